//! What the fuzz targets (`tests/fuzz`) check of the inside of this module. Compiled for them only.

use super::transcript::Transcript;

/// Any output of a session: what is shown of it while it runs has no control characters.
pub fn transcript(bytes: &[u8]) {
    let mut transcript = Transcript::default();
    for line in bytes.split(|&byte| byte == b'\n') {
        match transcript.read_line(line, &str::to_owned) {
            Ok(doing) => assert!(doing.is_none_or(|doing| !doing.chars().any(char::is_control))),
            Err(_) => return,
        }
    }
}
