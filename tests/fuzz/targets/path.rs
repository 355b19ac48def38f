//! Paths: what is accepted stays below the root, is not hidden, and is the same when it is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::vault::VaultPath;

fuzz_target!(|text: &str| {
    for path in [VaultPath::file(text), VaultPath::folder(text)].into_iter().flatten() {
        for segment in path.segments() {
            assert!(!segment.is_empty() && !segment.starts_with('.'), "{path:?}");
        }
        assert!(!path.as_str().chars().any(|c| c.is_control() || c == '\\'), "{path:?}");
        assert!(!path.as_str().starts_with('/') && !path.as_str().ends_with('/'), "{path:?}");
        assert_eq!(VaultPath::folder(path.as_str()).expect("read again"), path);
        assert!(path.is_root() || path.parent().contains(path.as_str()));
        let joined = std::path::Path::new("/vault").join(path.as_str());
        assert!(joined.components().all(|part| !matches!(part, std::path::Component::ParentDir)));
        assert!(joined.starts_with("/vault"));
    }
});
