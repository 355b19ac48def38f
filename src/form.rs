//! `application/x-www-form-urlencoded`, for query strings and form bodies.

use crate::limits;
use crate::percent::decode;

/// The fields of a form, in order.
#[derive(Debug, Default, Clone)]
pub struct Form(Vec<(String, String)>);

impl Form {
    /// Decodes a query string or a form body. `None`, because nothing is guessed, for more than
    /// [`limits::FORM_FIELDS`] fields, a `%` without two hex digits, bytes that are not UTF-8, and
    /// the same field twice. RFC 6749 section 3.1: request parameters must not be included more
    /// than once; parsers differ in which of the two counts, which an attacker can exploit.
    pub fn parse(text: &str) -> Option<Form> {
        let mut fields: Vec<(String, String)> = Vec::new();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decode(name, true)?, decode(value, true)?);
            // RFC 8707 section 2 allows `resource` more than once; the same resource twice counts
            // once.
            let is_repeated = fields
                .iter()
                .any(|(known, old)| *known == name && !(name == "resource" && *old == value));
            if is_repeated || fields.len() == limits::FORM_FIELDS {
                return None;
            }
            fields.push((name, value));
        }
        Some(Form(fields))
    }

    /// The fields whose names begin with `prefix`: the rest of each name, and its value.
    pub fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0
            .iter()
            .filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, value.as_str())))
    }

    /// The value of a field. RFC 6749 section 3.1: a field without a value counts as absent.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(field, value)| field == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
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
    fn what_is_ambiguous_or_broken_is_refused() {
        assert!(Form::parse("resource=x&resource=x").is_some());
        for bad in ["a=1&a=1", "resource=x&resource=y", "a=%", "a=%2", "a=%zz", "a=%FF", "%=1"] {
            assert!(Form::parse(bad).is_none(), "{bad}");
        }
        let many = |count: usize| (0..count).map(|n| format!("f{n}=1&")).collect::<String>();
        assert!(
            Form::parse(&many(limits::FORM_FIELDS)).is_some()
                && Form::parse(&many(limits::FORM_FIELDS + 1)).is_none()
        );
    }
}
