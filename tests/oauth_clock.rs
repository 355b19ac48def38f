//! Logins while time passes: expiry, and clocks that jump.

use crate::support::login::{REDIRECT, VERIFIER, authorize_path};
use crate::support::{PASSWORD, encode};
use serde_json::{Value, json};
use vault_sync_mcp::clock::Moment;
use vault_sync_mcp::form::Form;
use vault_sync_mcp::oauth::store::Store;
use vault_sync_mcp::oauth::{Logins, Oauth, Policy};

const DAY: u64 = 24 * 3600;

/// An authorization server without a network, whose time is the test's.
struct Clockwork {
    oauth: Oauth,
    client: String,
}

impl Clockwork {
    fn new() -> Clockwork {
        let users = [("alex".to_owned(), bcrypt::hash(PASSWORD, 4).unwrap())].into();
        let logins = Logins { users, ..Logins::default() };
        let oauth = Oauth::new(
            "https://vault.example.com".into(),
            logins,
            Policy::default(),
            Store::in_memory(),
        );
        let wish = json!({ "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" })
            .to_string();
        let client =
            oauth.register(wish.as_bytes(), [127, 0, 0, 1].into(), Moment(1000 * DAY)).unwrap();
        Clockwork { client: client["client_id"].as_str().unwrap().to_owned(), oauth }
    }

    fn code(&self, now: u64) -> String {
        use vault_sync_mcp::oauth::password::Login;
        let path = authorize_path(&self.client, &[]);
        let query = Form::parse(path.split_once('?').unwrap().1).unwrap();
        let request = self.oauth.check_authorization_request(&query).unwrap();
        let access = vault_sync_mcp::principal::Access::Write;
        assert_eq!(self.oauth.log_in("alex", PASSWORD, false), Login::Right);
        let location = self
            .oauth
            .issue_code(&request, "alex", access, None, [127, 0, 0, 1].into(), Moment(now))
            .unwrap();
        Form::parse(location.split_once('?').unwrap().1).unwrap().get("code").unwrap().to_owned()
    }

    fn ask(&self, fields: &[(&str, &str)], now: u64) -> Result<Value, String> {
        let form = Form::parse(&encode(&[fields, &[("client_id", self.client.as_str())]].concat()))
            .unwrap();
        self.oauth.exchange(None, &form, Moment(now)).map_err(|error| error.code.to_owned())
    }

    fn exchange(&self, code: &str, now: u64) -> Result<Value, String> {
        self.ask(
            &[
                ("grant_type", "authorization_code"),
                ("code", code),
                ("code_verifier", VERIFIER),
                ("redirect_uri", REDIRECT),
            ],
            now,
        )
    }

    fn refresh(&self, token: &str, now: u64) -> Result<Value, String> {
        self.ask(&[("grant_type", "refresh_token"), ("refresh_token", token)], now)
    }

    fn works(&self, token: &str, now: u64) -> bool {
        self.oauth.authenticate(Some(&format!("Bearer {token}")), Moment(now)).is_ok()
    }
}

fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer[name].as_str().unwrap()
}

#[test]
fn a_clock_that_jumps_a_day_grants_nothing_and_keeps_logins() {
    let start = 1000 * DAY;
    let it = Clockwork::new();
    // Ahead: codes and access tokens end, refresh tokens go on.
    let late = it.code(start);
    assert_eq!(
        it.exchange(&late, start + DAY).unwrap_err(),
        "invalid_grant",
        "a code does not live for a day"
    );
    let code = it.code(start);
    let first = it.exchange(&code, start + 120).unwrap();
    assert!(it.works(text(&first, "access_token"), start + 120));
    assert!(!it.works(text(&first, "access_token"), start + 2 * DAY));
    let second = it.refresh(text(&first, "refresh_token"), start + DAY).unwrap();
    assert!(it.works(text(&second, "access_token"), start + DAY));
    // Back again: what was given ahead still works, and an exchanged token does not become a theft.
    assert!(it.works(text(&second, "access_token"), start));
    let again = it.refresh(text(&first, "refresh_token"), start).unwrap();
    assert_eq!(again["refresh_token"], second["refresh_token"]);
    // Back before everything: nothing breaks, and nothing lives for ever when the clock is right
    // again.
    let early = it.exchange(&it.code(start - DAY), start - DAY).unwrap();
    assert!(
        it.works(text(&early, "access_token"), start - DAY)
            && !it.works(text(&early, "access_token"), start + DAY)
    );
    assert!(it.refresh(text(&early, "refresh_token"), start + DAY).is_ok());
}

#[test]
fn a_code_expires_after_five_minutes() {
    let it = Clockwork::new();
    for (after, works) in [(0, true), (120, true), (299, true), (300, false), (301, false)] {
        assert_eq!(
            it.exchange(&it.code(1000 * DAY), 1000 * DAY + after).is_ok(),
            works,
            "{after} s"
        );
    }
}

/// Used a day after its exchange, a refresh token is a copy: everything that came from its login
/// ends.
#[test]
fn a_stolen_refresh_token_is_noticed_after_the_window() {
    let start = 1000 * DAY;
    let it = Clockwork::new();
    let first = it.exchange(&it.code(start), start).unwrap();
    let second = it.refresh(text(&first, "refresh_token"), start + 60).unwrap();
    assert!(
        it.refresh(text(&first, "refresh_token"), start + 3000).is_ok(),
        "within the hour it is an honest late-comer"
    );
    // However often the thief has refreshed meanwhile.
    let mut stolen = text(&second, "refresh_token").to_owned();
    for hours in 2..20 {
        let next = it.refresh(&stolen, start + hours * 3600 + 600).unwrap();
        assert_ne!(text(&next, "refresh_token"), stolen, "once an hour");
        let again = it.refresh(text(&next, "refresh_token"), start + hours * 3600 + 700).unwrap();
        assert_eq!(text(&again, "refresh_token"), text(&next, "refresh_token"), "and no oftener");
        stolen = text(&next, "refresh_token").to_owned();
    }
    assert_eq!(
        it.refresh(text(&first, "refresh_token"), start + DAY).unwrap_err(),
        "invalid_grant"
    );
    assert!(!it.works(text(&second, "access_token"), start + 120), "the whole login has ended");
    for token in [text(&second, "refresh_token"), &stolen] {
        assert_eq!(it.refresh(token, start + DAY).unwrap_err(), "invalid_grant");
    }
}

#[test]
fn the_last_use_is_noted_to_the_hour() {
    let start = 1000 * DAY;
    let it = Clockwork::new();
    let tokens = it.exchange(&it.code(start), start).unwrap();
    let used = || it.oauth.store.state().grants.values().next().unwrap().last_use();
    assert!(it.works(text(&tokens, "access_token"), start + 600));
    assert_eq!(used(), start);
    assert!(it.works(text(&tokens, "access_token"), start + 2 * 3600));
    assert_eq!(used(), start + 2 * 3600);
}
