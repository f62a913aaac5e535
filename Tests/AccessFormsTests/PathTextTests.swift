import Testing
import TextForms
