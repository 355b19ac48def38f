//! `hash-password` and `generate-token`: secrets for the configuration, shown once.

use super::{FAILED, WRONG, fail, print, print_error};
use crate::config::is_name;
use crate::limits;
use crate::secret::{self, SecretHash};
use std::io::{self, BufRead, IsTerminal, Read};

/// The cost for bcrypt: about a quarter second on a PC, a second on a Pi.
const COST: u32 = 12;

pub(super) fn hash_password() -> u8 {
    ask_for_hash(1).map_or_else(|code| code, |hash| print(&format!("{hash}\n")))
}

/// The hash of a password that is asked for, of so many characters at least.
///
/// # Errors
/// The exit code, after printing why.
pub(super) fn ask_for_hash(min: usize) -> Result<String, u8> {
    let password = ask().map_err(|why| fail(why, WRONG))?;
    if password.chars().count() < min {
        let why = format!("the login is open to all who reach it: {min} characters or more");
        return Err(fail(why, WRONG));
    }
    bcrypt::hash(password, COST).map_err(|error| fail(error, FAILED))
}

/// Reads the password: twice without echo from a terminal, or one line from a pipe.
fn ask() -> Result<String, String> {
    let password = if io::stdin().is_terminal() {
        let first = rpassword::prompt_password("Password: ").map_err(|error| error.to_string())?;
        let second =
            rpassword::prompt_password("The same again: ").map_err(|error| error.to_string())?;
        if first != second {
            return Err("the two passwords differ".into());
        }
        first
    } else {
        let mut line = String::new();
        io::stdin().lock().take(4096).read_line(&mut line).map_err(|error| error.to_string())?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    if password.is_empty() {
        return Err(
            "the password is empty; without a terminal it is the first line of stdin".into()
        );
    }
    if password.len() > limits::PASSWORD_BYTES {
        return Err(format!(
            "the password is longer than {} bytes, which bcrypt would cut",
            limits::PASSWORD_BYTES
        ));
    }
    Ok(password)
}

pub(super) fn generate_token(name: &str) -> u8 {
    if !is_name(name) {
        print_error("vault-sync-mcp: a token's name has letters, digits, - _ . only, 64 at most\n");
        return WRONG;
    }
    let token = secret::new_token();
    print(&format!(
        "token: {token}\nentry: {name}:{}\n\nThe token is shown only now: send it as \
         \"Authorization: Bearer TOKEN\".\nPut the entry into API_TOKENS; add :read to it for a \
         token that may only read.\n(In CLIENT_CREDENTIALS the same entry makes {name} a client \
         id and the token its secret.)\n",
        SecretHash::of(&token).to_hex()
    ))
}
