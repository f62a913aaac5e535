// The types of items: extensions, identifier, what it conforms to, MIME type. A table of facts, one type a line.

/// A type of content and the extensions that mean it.
package struct TypeRow: Sendable {
  /// Without dots, with blanks between; none for a type that no extension means.
  package let extensions: String
  package let identifier: String
  /// Commas between.
  let parents: String
  package let mime: String?

  fileprivate init(_ extensions: String, _ identifier: String, _ parents: String, _ mime: String? = nil) {
    self.extensions = extensions
    self.identifier = identifier
    self.parents = parents
    self.mime = mime
  }

  // swift-format-ignore
  /// Behind "ours": an identifier that neither Apple nor the vendor of the format has declared, as far as we know.
  package static let all: [TypeRow] = [
    TypeRow("txt text", "public.plain-text", "public.text", "text/plain"),
    TypeRow("tsv", "public.tab-separated-values-text", "public.delimited-values-text", "text/tab-separated-values"),
    TypeRow("", "public.utf8-plain-text", "public.plain-text", "text/plain"),
    TypeRow("csv", "public.comma-separated-values-text", "public.delimited-values-text", "text/csv"),
    TypeRow("md markdown", "net.daringfireball.markdown", "public.plain-text", "text/markdown"),
    TypeRow("geojson", "public.geojson", "public.json", "application/geo+json"),
    TypeRow("rtf", "public.rtf", "public.text", "text/rtf"),
    TypeRow("plist", "com.apple.property-list", "public.data", "application/x-plist"),
    TypeRow("xhtml", "public.xhtml", "public.xml", "application/xhtml+xml"),
    TypeRow("html htm", "public.html", "public.text", "text/html"),
    TypeRow("strings", "com.apple.xcode.strings-text", "public.plain-text", "text/plain"),
    TypeRow("css", "public.css", "public.text", "text/css"),
    TypeRow("xml", "public.xml", "public.text", "application/xml"),
    TypeRow("ics", "com.apple.ical.ics", "public.calendar-event", "text/calendar"),
    TypeRow("json", "public.json", "public.text", "application/json"),
    TypeRow("yaml yml", "public.yaml", "public.text", "application/yaml"),
    TypeRow("cpp cc cxx", "public.c-plus-plus-source", "public.source-code", "text/x-c++src"),
    TypeRow("log", "public.log", "public.plain-text", "text/x-log"),
    TypeRow("hpp hh", "public.c-plus-plus-header", "public.source-code", "text/x-c++hdr"),
    TypeRow("tex", "org.tug.tex", "public.plain-text", "text/x-tex"),
    TypeRow("m", "public.objective-c-source", "public.source-code", "text/x-objcsrc"),
    TypeRow("vcf", "public.vcard", "public.contact", "text/vcard"),
    TypeRow("", "public.source-code", "public.plain-text", "text/plain"),
    TypeRow("patch diff", "public.patch-file", "public.plain-text", "text/x-patch"),
    TypeRow("c", "public.c-source", "public.source-code", "text/x-csrc"),
    TypeRow("js mjs", "com.netscape.javascript-source", "public.source-code", "text/javascript"),
    TypeRow("h", "public.c-header", "public.source-code", "text/x-chdr"),
    TypeRow("ts", "com.microsoft.typescript", "public.source-code", "application/x-typescript"),  // ours
    TypeRow("swift", "public.swift-source", "public.source-code", "text/x-swift"),
    TypeRow("zsh", "public.zsh-script", "public.shell-script", "application/x-shellscript"),
    TypeRow("s", "public.assembly-source", "public.source-code", "text/x-asm"),
    TypeRow("sh", "public.shell-script", "public.script", "application/x-shellscript"),
    TypeRow("mk", "public.make-source", "public.script", "text/x-makefile"),
    TypeRow("applescript", "com.apple.applescript.text", "public.script", "text/plain"),
    TypeRow("go", "org.golang.go-script", "public.source-code", "text/x-go"),  // ours
    TypeRow("kt", "org.kotlinlang.source", "public.source-code", "text/x-kotlin"),  // ours
    TypeRow("rs", "org.rust-lang.source", "public.source-code", "text/rust"),  // ours
    TypeRow("pl pm", "public.perl-script", "public.script", "application/x-perl"),
    TypeRow("java", "com.sun.java-source", "public.source-code", "text/x-java"),
    TypeRow("epub", "org.idpf.epub-container", "public.composite-content", "application/epub+zip"),
    TypeRow("py", "public.python-script", "public.script", "text/x-python"),
    TypeRow("eps", "com.adobe.encapsulated-postscript", "com.adobe.postscript", "image/x-eps"),
    TypeRow("rb", "public.ruby-script", "public.script", "application/x-ruby"),
    TypeRow("xls", "com.microsoft.excel.xls", "public.spreadsheet", "application/vnd.ms-excel"),
    TypeRow("php", "public.php-script", "public.script", "application/x-php"),
    TypeRow("ppt", "com.microsoft.powerpoint.ppt", "public.presentation", "application/vnd.ms-powerpoint"),
    TypeRow("lua", "org.lua.lua", "public.script", "text/x-lua"),  // ours
    TypeRow("ods", "org.oasis-open.opendocument.spreadsheet", "public.spreadsheet", "application/vnd.oasis.opendocument.spreadsheet"),
    TypeRow("sql", "org.sql.source", "public.source-code", "application/sql"),  // ours
    TypeRow("odt", "org.oasis-open.opendocument.text", "public.composite-content", "application/vnd.oasis.opendocument.text"),
    TypeRow("pdf", "com.adobe.pdf", "public.composite-content", "application/pdf"),
    TypeRow("numbers", "com.apple.iwork.numbers.sffnumbers", "public.spreadsheet", "application/vnd.apple.numbers"),
    TypeRow("ps", "com.adobe.postscript", "public.data", "application/postscript"),
    TypeRow("pages", "com.apple.iwork.pages.sffpages", "public.composite-content", "application/vnd.apple.pages"),
    TypeRow("docx", "org.openxmlformats.wordprocessingml.document", "public.composite-content", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    TypeRow("doc", "com.microsoft.word.doc", "public.composite-content", "application/msword"),
    TypeRow("key", "com.apple.iwork.keynote.sffkey", "public.presentation", "application/vnd.apple.keynote"),
    TypeRow("xlsx", "org.openxmlformats.spreadsheetml.sheet", "public.spreadsheet", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    TypeRow("pptx", "org.openxmlformats.presentationml.presentation", "public.presentation", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    TypeRow("odp", "org.oasis-open.opendocument.presentation", "public.presentation", "application/vnd.oasis.opendocument.presentation"),
    TypeRow("png", "public.png", "public.image", "image/png"),
    TypeRow("odg", "org.oasis-open.opendocument.graphics", "public.composite-content", "application/vnd.oasis.opendocument.graphics"),
    TypeRow("gif", "com.compuserve.gif", "public.image", "image/gif"),
    TypeRow("eml", "com.apple.mail.email", "public.email-message", "message/rfc822"),
    TypeRow("emlx", "com.apple.mail.emlx", "public.email-message", "message/rfc822"),
    TypeRow("jpg jpeg jpe", "public.jpeg", "public.image", "image/jpeg"),
    TypeRow("ico", "com.microsoft.ico", "public.image", "image/vnd.microsoft.icon"),
    TypeRow("tiff tif", "public.tiff", "public.image", "image/tiff"),
    TypeRow("psd", "com.adobe.photoshop-image", "public.image", "image/vnd.adobe.photoshop"),
    TypeRow("heic", "public.heic", "public.heif-standard", "image/heif"),
    TypeRow("dng", "com.adobe.raw-image", "public.camera-raw-image", "image/x-adobe-dng"),
    TypeRow("heif", "public.heif", "public.heif-standard", "image/heif"),
    TypeRow("cr2", "com.canon.cr2-raw-image", "public.camera-raw-image", "image/x-canon-cr2"),
    TypeRow("avif", "public.avif", "public.image", "image/avif"),
    TypeRow("arw", "com.sony.arw-raw-image", "public.camera-raw-image", "image/x-sony-arw"),
    TypeRow("webp", "org.webmproject.webp", "public.image", "image/webp"),
    TypeRow("nef", "com.nikon.raw-image", "public.camera-raw-image", "image/x-nikon-nef"),
    TypeRow("bmp", "com.microsoft.bmp", "public.image", "image/bmp"),
    TypeRow("tga", "com.truevision.tga-image", "public.image", "image/x-tga"),  // ours
    TypeRow("svg", "public.svg-image", "public.image", "image/svg+xml"),
    TypeRow("icns", "com.apple.icns", "public.image", "image/x-icns"),
    TypeRow("wav", "com.microsoft.waveform-audio", "public.audio", "audio/x-wav"),
    TypeRow("jp2", "public.jpeg-2000", "public.image", "image/jp2"),
    TypeRow("jxl", "public.jpeg-xl", "public.image", "image/jxl"),
    TypeRow("aif aiff", "public.aiff-audio", "public.audio", "audio/x-aiff"),
    TypeRow("mid midi", "public.midi-audio", "public.audio", "audio/midi"),
    TypeRow("exr", "com.ilm.openexr-image", "public.image", "image/x-exr"),
    TypeRow("wma", "com.microsoft.windows-media-wma", "public.audio", "audio/x-ms-wma"),
    TypeRow("mp3", "public.mp3", "public.audio", "audio/mpeg"),
    TypeRow("m3u m3u8", "public.m3u-playlist", "public.text", "application/vnd.apple.mpegurl"),  // ours
    TypeRow("m4a", "public.mpeg-4-audio", "public.audio", "audio/mp4"),
    TypeRow("mov qt", "com.apple.quicktime-movie", "public.movie", "video/quicktime"),
    TypeRow("aac", "public.aac-audio", "public.audio", "audio/aac"),
    TypeRow("caf", "com.apple.coreaudio-format", "public.audio", "audio/x-caf"),
    TypeRow("opus", "org.xiph.opus", "public.audio", "audio/x-opus+ogg"),  // ours
    TypeRow("", "com.apple.m4a-audio", "public.mpeg-4-audio", "audio/mp4"),
    TypeRow("m2ts mts", "public.mpeg-2-transport-stream", "public.movie", "video/mp2t"),
    TypeRow("flac", "org.xiph.flac", "public.audio", "audio/flac"),
    TypeRow("wmv", "com.microsoft.windows-media-wmv", "public.movie", "video/x-ms-wmv"),
    TypeRow("mp4", "public.mpeg-4", "public.movie", "video/mp4"),
    TypeRow("ogg oga", "org.xiph.ogg-audio", "public.audio", "audio/ogg"),
    TypeRow("srt", "org.subrip.srt", "public.plain-text", "application/x-subrip"),  // ours
    TypeRow("3gp", "public.3gpp", "public.movie", "video/3gpp"),
    TypeRow("m4v", "com.apple.m4v-video", "public.mpeg-4", "video/mp4"),
    TypeRow("tgz", "org.gnu.gnu-zip-tar-archive", "org.gnu.gnu-zip-archive", "application/x-compressed-tar"),
    TypeRow("avi", "public.avi", "public.movie", "video/x-msvideo"),
    TypeRow("gz", "org.gnu.gnu-zip-archive", "public.archive", "application/gzip"),
    TypeRow("ogv", "org.xiph.ogg-video", "public.movie", "video/ogg"),  // ours
    TypeRow("mkv", "org.matroska.mkv", "public.movie", "video/x-matroska"),
    TypeRow("7z", "org.7-zip.7-zip-archive", "public.archive", "application/x-7z-compressed"),
    TypeRow("webm", "org.webmproject.webm", "public.movie", "video/webm"),
    TypeRow("zst", "org.zstandard.zst-archive", "public.archive", "application/zstd"),  // ours
    TypeRow("mpg mpeg", "public.mpeg", "public.movie", "video/mpeg"),
    TypeRow("dmg", "com.apple.disk-image-udif", "com.apple.disk-image", "application/x-apple-diskimage"),
    TypeRow("zip", "public.zip-archive", "public.archive", "application/zip"),
    TypeRow("pkg", "com.apple.installer-package-archive", "public.archive", "application/x-xar"),
    TypeRow("tar", "public.tar-archive", "public.archive", "application/x-tar"),
    TypeRow("deb", "org.debian.deb-archive", "public.archive", "application/vnd.debian.binary-package"),  // ours
    TypeRow("bz2", "public.bzip2-archive", "public.archive", "application/x-bzip"),
    TypeRow("apk", "com.android.package-archive", "public.zip-archive", "application/vnd.android.package-archive"),  // ours
    TypeRow("xz", "org.tukaani.xz-archive", "public.archive", "application/x-xz"),
    TypeRow("jar", "com.sun.java-archive", "public.zip-archive", "application/x-java-archive"),
    TypeRow("rar", "com.rarlab.rar-archive", "public.archive", "application/vnd.rar"),
    TypeRow("ipa", "com.apple.itunes.ipa", "public.zip-archive", "application/octet-stream"),
    TypeRow("cpio", "public.cpio-archive", "public.archive", "application/x-cpio"),
    TypeRow("aar", "com.apple.archive", "public.archive", "application/x-apple-archive"),
    TypeRow("xar", "com.apple.xar-archive", "public.archive", "application/x-xar"),
    TypeRow("usdz", "com.pixar.universal-scene-description-mobile", "public.3d-content", "model/vnd.usdz+zip"),
    TypeRow("iso", "public.iso-image", "public.disk-image", "application/x-cd-image"),
    TypeRow("stl", "public.standard-tesselated-geometry-format", "public.3d-content", "model/stl"),
    TypeRow("rpm", "org.rpm.rpm-archive", "public.archive", "application/x-rpm"),  // ours
    TypeRow("usd", "com.pixar.universal-scene-description", "public.3d-content", "model/vnd.usd"),
    TypeRow("ttf", "public.truetype-ttf-font", "public.font", "font/ttf"),
    TypeRow("exe", "com.microsoft.windows-executable", "public.executable", "application/x-ms-dos-executable"),
    TypeRow("otf", "public.opentype-font", "public.font", "font/otf"),
    TypeRow("dll", "com.microsoft.windows-dynamic-link-library", "public.data", "application/x-sharedlib"),
    TypeRow("ttc", "public.truetype-collection-font", "public.font", "font/collection"),
    TypeRow("dylib", "com.apple.mach-o-dylib", "public.executable", "application/x-sharedlib"),
    TypeRow("woff", "org.w3.woff", "public.font", "font/woff"),
    TypeRow("sqlite sqlite3 db", "org.sqlite.database", "public.database", "application/vnd.sqlite3"),  // ours
    TypeRow("woff2", "org.w3.woff2", "public.font", "font/woff2"),
    TypeRow("so", "org.linux.shared-library", "public.executable", "application/x-sharedlib"),  // ours
    TypeRow("obj", "public.geometry-definition-format", "public.3d-content", "model/obj"),
    TypeRow("sig asc", "org.openpgp.signature", "public.data", "application/pgp-signature"),  // ours
    TypeRow("gltf glb", "org.khronos.gltf", "public.3d-content", "model/gltf+json"),  // ours
    TypeRow("webloc", "com.apple.web-internet-location", "com.apple.internet-location", "text/plain"),
    TypeRow("", "public.unix-executable", "public.executable", "application/x-executable"),
    TypeRow("url", "com.microsoft.internet-shortcut", "com.apple.internet-location", "application/x-mswinurl"),
    TypeRow("o", "public.object-code", "public.data", "application/x-object"),
    TypeRow("app", "com.apple.application-bundle", "com.apple.application,com.apple.bundle,com.apple.package"),
    TypeRow("a", "org.gnu.ar-library", "public.data", "application/x-archive"),  // ours
    TypeRow("desktop", "org.freedesktop.desktop-entry", "public.text", "application/x-desktop"),  // ours
    TypeRow("tbd", "org.llvm.tbd", "public.data", "application/x-object-export"),  // ours
    TypeRow("torrent", "org.bittorrent.torrent", "public.data", "application/x-bittorrent"),  // ours
    TypeRow("pem", "org.ietf.pem", "public.text", "application/x-pem-key"),  // ours
    TypeRow("prefpane", "com.apple.systempreference.prefpane", "com.apple.bundle,com.apple.package"),
    TypeRow("cer crt", "public.x509-certificate", "public.data", "application/pkix-cert"),
    TypeRow("qlgenerator", "com.apple.quicklook-generator", "com.apple.bundle,com.apple.package"),
    TypeRow("p12 pfx", "com.rsa.pkcs-12", "public.data", "application/pkcs12"),
    TypeRow("mdimporter", "com.apple.metadata-importer", "com.apple.bundle,com.apple.package"),
    TypeRow("", "com.apple.alias-file", "public.data", "application/octet-stream"),
    TypeRow("bundle", "com.apple.generic-bundle", "com.apple.bundle,com.apple.package"),
    TypeRow("framework", "com.apple.framework", "com.apple.bundle"),
    TypeRow("kext", "com.apple.kernel-extension", "com.apple.bundle,com.apple.package"),
    TypeRow("plugin", "com.apple.plugin", "com.apple.bundle,com.apple.package"),
    TypeRow("sparsebundle", "com.apple.disk-image-sparse-bundle", "com.apple.package,com.apple.disk-image"),
    TypeRow("saver", "com.apple.screen-saver", "com.apple.bundle,com.apple.package"),
    TypeRow("appex", "com.apple.app-extension", "com.apple.bundle,com.apple.package"),
    TypeRow("xpc", "com.apple.xpc-service", "com.apple.bundle,com.apple.package"),
    TypeRow("rtfd", "com.apple.rtfd", "com.apple.package,public.composite-content"),
    TypeRow("lproj", "com.apple.localizable-name-bundle", "com.apple.bundle"),
    TypeRow("xcworkspace", "com.apple.dt.document.workspace", "com.apple.package"),
    TypeRow("mpkg", "com.apple.installer-package-bundle", "com.apple.package"),
    TypeRow("fcpbundle", "com.apple.final-cut-pro.library", "com.apple.package"),
    TypeRow("photoslibrary", "com.apple.photos.library", "com.apple.package"),
    TypeRow("imovielibrary", "com.apple.imovie.library", "com.apple.package"),
    TypeRow("xcodeproj", "com.apple.xcode.project", "com.apple.package"),
    TypeRow("playground", "com.apple.xcode.playground", "com.apple.package"),
    TypeRow("xcarchive", "com.apple.xcarchive", "com.apple.package"),
    TypeRow("dsym", "com.apple.xcode.dsym", "com.apple.package"),
    TypeRow("download", "org.webkit.partial-download", "com.apple.package"),  // ours
    TypeRow("band", "com.apple.garageband.project", "com.apple.package"),
    TypeRow("logicx", "com.apple.logic.project", "com.apple.package"),
  ]
}
