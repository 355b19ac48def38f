//! Redirect URIs: two that match differ in nothing but the port of a loopback address, and a code never leaves in pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vault_sync_mcp::oauth::redirect::{Redirect, RedirectTarget, matches};

fuzz_target!(|text: &str| {
    let (registered, requested) = text.split_once('\n').unwrap_or((text, text));
    let _ = RedirectTarget::of(registered);
    if !matches(registered, requested) {
        return;
    }
    if registered != requested {
        // RFC 8252, 7.3: only the port, only of http on this machine.
        assert!(registered.starts_with("http://") && requested.starts_with("http://"), "{text:?}");
        let without_port = |uri: &str| {
            let rest = &uri["http://".len()..];
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, after) = rest.split_at(end);
            let host = match authority.rfind(':').filter(|at| !authority[*at..].contains(']')) {
                Some(at) => &authority[..at],
                None => authority,
            };
            (host.to_owned(), after.to_owned())
        };
        let ((host, after), (other, other_after)) = (without_port(registered), without_port(requested));
        assert_eq!((&host, &after), (&other, &other_after), "{text:?}");
        assert!(matches!(host.as_str(), "127.0.0.1" | "[::1]" | "localhost"), "{host:?}");
    }
    let Some(redirect) = Redirect::proven(&[registered.to_owned()], requested, Some("a&b=c#d")) else { return };
    let location = redirect.location(&[("code", "x y&z"), ("error", "#?")], "https://vault.example.com");
    assert!(location.starts_with(requested.split('#').next().unwrap_or_default()), "{location}");
    assert!(!location.bytes().any(|byte| byte < b' ' || byte == 0x7f), "{location:?}");
});
