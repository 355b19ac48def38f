//! The kind of a file by its name.

/// How a file's content is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text whose words are searched.
    Text,
    /// An image format that models can view.
    Image,
    /// A sound.
    Audio,
    /// A document that clients may show.
    Pdf,
    /// Anything else: shown as text if it turns out to be text.
    Other,
}

/// Whether a name is that of a note.
pub fn is_note(name: &str) -> bool {
    without_ending(name).is_some()
}

/// The name of a note without `.md`; `None` for any other file.
pub fn without_ending(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && extension.eq_ignore_ascii_case("md")).then_some(stem)
}

/// The extension of a name in lower case, if it has one; in `v1.2` and `v1.2 plan` the last part is
/// none.
pub fn extension_of(name: &str) -> Option<String> {
    let (_, extension) = name.rsplit_once('.')?;
    let is_extension = extension.len() <= 6
        && extension.chars().all(char::is_alphanumeric)
        && extension.chars().any(char::is_alphabetic);
    is_extension.then(|| extension.to_lowercase())
}

/// Kind and media type (RFC 6838) by a name's extension, ignoring case.
pub fn of(name: &str) -> (Kind, &'static str) {
    let extension = name
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase())
        .unwrap_or_default();
    match extension.as_str() {
        "md" | "markdown" => (Kind::Text, "text/markdown"),
        "txt" | "org" | "rst" | "tex" | "log" | "bib" | "ini" | "toml" | "sh" | "sql" | "py"
        | "rs" | "js" | "ts" | "css" | "c" | "h" | "go" => (Kind::Text, "text/plain"),
        "csv" => (Kind::Text, "text/csv"),
        "html" | "htm" => (Kind::Text, "text/html"),
        "svg" => (Kind::Text, "image/svg+xml"),
        "xml" => (Kind::Text, "application/xml"),
        "canvas" | "json" => (Kind::Text, "application/json"),
        "base" | "yaml" | "yml" => (Kind::Text, "application/yaml"),
        "png" => (Kind::Image, "image/png"),
        "jpg" | "jpeg" => (Kind::Image, "image/jpeg"),
        "gif" => (Kind::Image, "image/gif"),
        "webp" => (Kind::Image, "image/webp"),
        "mp3" => (Kind::Audio, "audio/mpeg"),
        "wav" => (Kind::Audio, "audio/wav"),
        "ogg" | "oga" | "opus" => (Kind::Audio, "audio/ogg"),
        "m4a" => (Kind::Audio, "audio/mp4"),
        "flac" => (Kind::Audio, "audio/flac"),
        "pdf" => (Kind::Pdf, "application/pdf"),
        _ => (Kind::Other, "application/octet-stream"),
    }
}
