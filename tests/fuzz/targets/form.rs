//! Forms, queries, percent-encoding, `vault:` URIs and cursors. What is written is read back the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::form::Form;
use vault_sync_mcp::{cursor, percent, uri};

fuzz_target!(|text: &str| {
    if let Some(form) = Form::parse(text) {
        let _ = (form.get("state"), form.get("redirect_uri"), form.get(text));
    }
    let _ = (percent::decode(text, true), percent::decode(text, false));
    assert_eq!(percent::decode(&percent::encode(text, ""), false).as_deref(), Some(text));
    assert_eq!(percent::decode(&percent::encode(text, ""), true).as_deref(), Some(text));
    assert_eq!(cursor::last(&cursor::after(text)).as_deref(), Some(text));
    let _ = (cursor::last(text), uri::to_path(text), uri::to_part(text));
    if vault_sync_mcp::vault::VaultPath::file(text).is_ok_and(|path| path.as_str() == text) {
        assert_eq!(uri::to_path(&uri::of_path(text)).as_deref(), Some(text));
        let part = uri::to_part(&uri::of_rest(text, 7, 3)).expect("a part is read back");
        assert_eq!((part.0.as_str(), part.1, part.2), (text, 7, 3));
    }
});
