// The table of languages and that of standard directories once more, as the rules have them: strings, row by row.

import DisplayNames

extension Reference {
  private static let legacyNames = [
    ["en", "English"], ["fr", "French"], ["de", "German"], ["ja", "Japanese"], ["es", "Spanish"],
    ["it", "Italian"], ["nl", "Dutch"], ["sv", "Swedish"], ["da", "Danish"], ["nb", "Norwegian"],
    ["nn", "Norwegian"], ["no", "Norwegian"], ["fi", "Finnish"], ["pt", "Portuguese"], ["ko", "Korean"],
    ["ru", "Russian"], ["pl", "Polish"],
  ]

  /// What is looked for, for one tag.
  package static func tried(tag: String) -> [String] {
    let language = String(tag.prefix { $0 != "-" })
    var row: [String]
    switch tag {
    case _ where tag.hasPrefix("zh-Hant"), "zh-TW", "zh-HK", "zh-MO":
      row = [tag, "zh-Hant", "zh-TW", "zh-HK"]
    case _ where language == "zh": row = [tag, "zh-Hans", "zh-CN", "zh"]
    case "pt", "pt-BR": row = [tag, "pt-BR", "pt"]
    case _ where language == "pt": row = [tag, "pt-PT", "pt"]
    default:
      row = [tag]
      while let dash = row[row.count - 1].lastIndex(of: "-") {
        row.append(String(row[row.count - 1][..<dash]))
      }
      if language == "nn" { row += ["nb", "no"] }
      if language == "nb" { row += ["no"] }
      if language == "no" { row += ["nb"] }
    }
    let names = row.flatMap { [$0, $0.replacing("-", with: "_")] }
    return withoutRepeats(names + legacyNames.filter { $0[0] == language }.map { $0[1] })
  }

  private static func withoutRepeats(_ names: [String]) -> [String] {
    names.enumerated().filter { index, name in !names[..<index].contains(name) }.map(\.element)
  }

  /// The same for a list of tags; `region`: what a bundle says of the language it was made in.
  static func tried(tags: [String], region: String? = nil) -> [String] {
    var names = tags.flatMap { tried(tag: $0) }
    if let region, !tags.isEmpty {
      let tag = region.replacing("_", with: "-")
      if legacyNames.contains(where: { $0[1] == region }) {
        names.append(region)
      } else if Language(tag) != nil {
        names += tried(tag: tag)
      }
    }
    return withoutRepeats(names)
  }

  /// What a standard directory is called, by the first of the tags that has a word for it.
  static func standardName(_ name: String, _ tags: [String]) -> String? {
    let key = name == "Videos" ? "Movies" : name
    guard let column = standardColumns.firstIndex(of: key) else { return nil }
    for tag in tags {
      guard let row = standardRows.first(where: { $0.tag == tag }) else { continue }
      let word = row.words.split(separator: "|")[column]
      if word != "—" { return String(word) }
    }
    return nil
  }

  static func isStandard(_ name: String) -> Bool { name == "Videos" || standardColumns.contains(name) }

  private static let standardColumns = [
    "Desktop", "Documents", "Downloads", "Music", "Pictures", "Movies", "Public", "Templates", "Applications",
    "Utilities", "Library", "Sites", "Shared", "Users", "Network", "System", "Trash",
  ]

  // swift-format-ignore
  private static let standardRows: [(tag: String, words: String)] = [
    ("de", "Schreibtisch|Dokumente|Downloads|Musik|Bilder|Filme|Öffentlich|Vorlagen|Anwendungen|Hilfsprogramme|Bibliothek|Websites|Geteilt|Benutzer|Netzwerk|System|Papierkorb"),
    ("fr", "Bureau|Documents|Téléchargements|Musique|Images|Films|Public|Modèles|Applications|Utilitaires|Bibliothèque|Sites|Partagé|Utilisateurs|Réseau|Système|Corbeille"),
    ("es", "Escritorio|Documentos|Descargas|Música|Imágenes|Películas|Público|Plantillas|Aplicaciones|Utilidades|Biblioteca|Sitios|Compartido|Usuarios|Red|Sistema|Papelera"),
    ("it", "Scrivania|Documenti|Scaricati|Musica|Immagini|Filmati|Pubblici|Modelli|Applicazioni|Utilità|Libreria|Siti|Condivisi|Utenti|Rete|Sistema|Cestino"),
    ("nl", "Bureaublad|Documenten|Downloads|Muziek|Afbeeldingen|Films|Openbaar|Sjablonen|Toepassingen|Hulpmiddelen|Bibliotheek|Sites|Gedeeld|Gebruikers|Netwerk|Systeem|Prullenbak"),
    ("pt-BR", "Área de trabalho|Documentos|Downloads|Músicas|Imagens|Filmes|Público|Modelos|Aplicativos|Utilitários|Biblioteca|Sites|Compartilhado|Usuários|Rede|Sistema|Lixeira"),
    ("pt-PT", "Área de Trabalho|Documentos|Transferências|Música|Imagens|Filmes|Público|Modelos|Aplicações|Utilitários|Biblioteca|Sites|Partilhado|Utilizadores|Rede|Sistema|Lixo"),
    ("sv", "Skrivbord|Dokument|Hämtningar|Musik|Bilder|Filmer|Publikt|Mallar|Program|Nyttoprogram|Bibliotek|Webbplatser|Delat|Användare|Nätverk|System|Papperskorg"),
    ("da", "Skrivebord|Dokumenter|Hentet|Musik|Billeder|Film|Offentligt|Skabeloner|Programmer|Redskaber|Bibliotek|Websteder|Delt|Brugere|Netværk|System|Papirkurv"),
    ("nb", "Skrivebord|Dokumenter|Nedlastinger|Musikk|Bilder|Filmer|Offentlig|Maler|Programmer|Verktøy|Bibliotek|Nettsteder|Delt|Brukere|Nettverk|System|Papirkurv"),
    ("fi", "Työpöytä|Asiakirjat|Lataukset|Musiikki|Kuvat|Elokuvat|Julkinen|Mallit|Sovellukset|Työkalut|Kirjasto|Sivustot|Jaettu|Käyttäjät|Verkko|Järjestelmä|Roskakori"),
    ("pl", "Pulpit|Dokumenty|Pobrane|Muzyka|Obrazy|Filmy|Publiczny|Szablony|Programy|Narzędzia|Biblioteka|Witryny|Udostępnione|Użytkownicy|Sieć|System|Kosz"),
    ("cs", "Plocha|Dokumenty|Stažené|Hudba|Obrázky|Filmy|Veřejné|Šablony|Aplikace|Pomůcky|Knihovna|Stránky|Sdílené|Uživatelé|Síť|Systém|Koš"),
    ("hu", "Asztal|Dokumentumok|Letöltések|Zenék|Képek|Filmek|Nyilvános|Sablonok|Alkalmazások|Segédprogramok|Könyvtár|Webhelyek|Megosztott|Felhasználók|Hálózat|Rendszer|Kuka"),
    ("tr", "Masaüstü|Belgeler|İndirilenler|Müzik|Resimler|Filmler|Genel|Şablonlar|Uygulamalar|Araçlar|Kitaplık|Siteler|Paylaşılan|Kullanıcılar|Ağ|Sistem|Çöp"),
    ("ru", "Рабочий стол|Документы|Загрузки|Музыка|Изображения|Фильмы|Общедоступные|Шаблоны|Приложения|Утилиты|Библиотека|Сайты|Общие|Пользователи|Сеть|Система|Корзина"),
    ("uk", "Стільниця|Документи|Завантажене|Музика|Картинки|Фільми|Загальне|Шаблони|Програми|Засоби|Бібліотека|Сайти|Спільне|Користувачі|Мережа|Система|Смітник"),
    ("el", "Επιφάνεια εργασίας|Έγγραφα|Λήψεις|Μουσική|Εικόνες|Ταινίες|Δημόσια|Πρότυπα|Εφαρμογές|Εργαλεία|Βιβλιοθήκη|Ιστότοποι|Κοινόχρηστα|Χρήστες|Δίκτυο|Σύστημα|Απορρίμματα"),
    ("ja", "デスクトップ|ドキュメント|ダウンロード|音楽|画像|映画|公開|テンプレート|アプリケーション|ユーティリティ|ライブラリ|サイト|共有|ユーザー|ネットワーク|システム|ゴミ箱"),
    ("ko", "바탕화면|문서|다운로드|음악|사진|영화|공개|서식|응용 프로그램|유틸리티|라이브러리|사이트|공유|사용자|네트워크|시스템|휴지통"),
    ("zh-Hans", "桌面|文档|下载|音乐|图片|电影|公共|模板|应用程序|工具|资源库|站点|共享|用户|网络|系统|回收站"),
    ("zh-Hant", "桌面|文件|下載|音樂|圖片|電影|公共|模板|程式|公用程式|資源庫|網站|共享|使用者|網路|系統|垃圾桶"),
    ("ar", "سطح المكتب|المستندات|—|الموسيقى|الصور|الأفلام|عام|القوالب|التطبيقات|أدوات|المكتبة|المواقع|مشترك|المستخدمين|الشبكة|النظام|المهملات"),
    ("he", "שולחן עבודה|מסמכים|הורדות|מוסיקה|תמונות|סרטים|ציבורי|תבניות|יישומים|עזרים|ספרייה|אתרים|משותף|משתמשים|רשת|מערכת|אשפה"),
  ]
}
