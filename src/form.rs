//! `application/x-www-form-urlencoded`, for query strings and form bodies.

use crate::limits;
use crate::percent::decode;

/// The fields of a form, in order.
#[derive(Debug, Default, Clone)]
pub struct Form(Vec<(String, String)>);

/// Why a form is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FormError {
    /// More fields than [`limits::FORM_FIELDS`].
    TooManyFields,
    /// A `%` without two hex digits, or bytes that are not UTF-8.
    BadEncoding,
    /// The same field twice. RFC 6749 section 3.1: request parameters must not be included more than once; parsers
    /// differ in which of the two counts, which an attacker can exploit.
    Repeated(String),
}

impl Form {
    /// Decodes a query string or a form body.
    ///
    /// # Errors
    /// [`FormError`]; nothing is guessed.
    pub fn parse(text: &str) -> Result<Form, FormError> {
        let mut fields: Vec<(String, String)> = Vec::new();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            if fields.len() == limits::FORM_FIELDS {
                return Err(FormError::TooManyFields);
            }
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let name = decode(name, true).ok_or(FormError::BadEncoding)?;
            let value = decode(value, true).ok_or(FormError::BadEncoding)?;
            // RFC 8707 section 2 allows `resource` more than once; the same resource twice counts once.
            if fields.iter().any(|(known, old)| *known == name && !(name == "resource" && *old == value)) {
                return Err(FormError::Repeated(name));
            }
            fields.push((name, value));
        }
        Ok(Form(fields))
    }

    /// The fields whose names begin with `prefix`: the rest of each name, and its value.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    /// The value of a field. RFC 6749 section 3.1: a field without a value counts as absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(field, value)| field == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_decoded_once() {
        let form = Form::parse("a=1+2&b=%2525&c&d=%C3%A9&=x").unwrap();
        assert_eq!(form.get("a"), Some("1 2"));
        assert_eq!(form.get("b"), Some("%25"));
        assert_eq!(form.get("c"), None);
        assert_eq!(form.get("d"), Some("é"));
    }

    #[test]
    fn what_is_ambiguous_or_broken_is_an_error() {
        assert_eq!(Form::parse("a=1&a=1").err(), Some(FormError::Repeated("a".into())));
        assert_eq!(Form::parse("resource=x&resource=y").err(), Some(FormError::Repeated("resource".into())));
        assert!(Form::parse("resource=x&resource=x").is_ok());
        for bad in ["a=%", "a=%2", "a=%zz", "a=%FF", "%=1"] {
            assert_eq!(Form::parse(bad).err(), Some(FormError::BadEncoding), "{bad}");
        }
        assert_eq!(Form::parse(&"a&".repeat(100)).err(), Some(FormError::Repeated("a".into())));
        let many: String = (0..100).map(|n| format!("f{n}=1&")).collect();
        assert_eq!(Form::parse(&many).err(), Some(FormError::TooManyFields));
    }
}
