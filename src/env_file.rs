//! Files of settings, as systemd reads those of `EnvironmentFile=` (systemd.exec(5)): `NAME=VALUE`
//! in each line, comments behind `#` or `;` at a line's start, values with quotes, no expansion.

/// The names and values in a file, in its order.
pub fn parse(text: &str) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let end_of_line = line.find('\n').unwrap_or(line.len());
        let (first, _) = line.split_at(end_of_line);
        match first.split_once('=').filter(|_| !first.starts_with(['#', ';'])) {
            Some((name, _)) => {
                let value;
                (value, rest) = read_value(line.get(name.len() + 1..).unwrap_or_default());
                settings.push((name.trim().to_owned(), value));
            }
            // A line without a value is ignored.
            None => rest = line.get(end_of_line..).unwrap_or_default(),
        }
    }
    settings
}

/// A value, which quotes may carry over several lines; and what follows its line.
fn read_value(text: &str) -> (String, &str) {
    let mut value = String::new();
    // Unquoted spaces at the end do not count.
    let mut length = 0;
    let mut quote = None;
    // A quote inside an unquoted value is a character like others.
    let mut may_open = true;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (None, '\n') => return finished(value, length, text.get(at..).unwrap_or_default()),
            (None, '\'' | '"') if may_open => quote = Some(character),
            (Some(open), _) if character == open => quote = None,
            (Some('"') | None, '\\') => match characters.next() {
                // A line that goes on.
                Some((_, '\n')) | None => {}
                Some((_, escaped)) => {
                    if quote.is_some() && !"\"\\`$".contains(escaped) {
                        value.push('\\');
                    }
                    value.push(escaped);
                    may_open = quote.is_some();
                }
            },
            // Spaces before a value, or between quoted parts, do not count either.
            (None, ' ' | '\t' | '\r') if may_open => continue,
            _ => {
                value.push(character);
                may_open = quote.is_some();
            }
        }
        if quote.is_some() || !matches!(character, ' ' | '\t' | '\r') {
            length = value.len();
        }
    }
    finished(value, length, "")
}

fn finished(mut value: String, length: usize, rest: &str) -> (String, &str) {
    value.truncate(length);
    (value, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_systemd_reads_them() {
        for (text, expected) in [
            ("A=1\nB=2\n", vec![("A", "1"), ("B", "2")]),
            ("# A=1\n ; B=2\nC = 3 \r\n\nD\n", vec![("C", "3")]),
            ("A='x $y \"z\" # w'\n", vec![("A", "x $y \"z\" # w")]),
            ("A=\"x \\\"y\\\" \\$z \\n\"\n", vec![("A", "x \"y\" $z \\n")]),
            ("A=a:$2b$12$abc./,b\n", vec![("A", "a:$2b$12$abc./,b")]),
            ("A=one \\\ntwo\nB='two\nlines'", vec![("A", "one two"), ("B", "two\nlines")]),
            ("A=/srv/Bob's Vault \nB=", vec![("A", "/srv/Bob's Vault"), ("B", "")]),
            ("A='x' \"y\" \nB=1", vec![("A", "xy"), ("B", "1")]),
            ("A='left open\nB=1\n", vec![("A", "left open\nB=1\n")]),
            ("ä=ü # no comment\n", vec![("ä", "ü # no comment")]),
            ("\\", vec![]),
        ] {
            let read = parse(text);
            let read: Vec<(&str, &str)> =
                read.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            assert_eq!(read, expected, "{text:?}");
        }
    }
}
