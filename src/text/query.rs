//! Obsidian's search language: words, `"a phrase"`, `-word`, `OR`, parentheses, `file:`, `path:`, `content:`, `tag:`,
//! `[property]` and `[property:value]`.

use super::fold::fold;
use super::words::of_query;
use std::collections::HashSet;

/// Parentheses and minus signs inside of each other that are read.
const NESTED: usize = 16;

type MakeCondition = fn(String) -> Condition;

/// What stands before a word or phrase to say where it has to be.
const OPERATORS: [(&str, MakeCondition); 4] =
    [("file:", Condition::Name), ("path:", Condition::Path), ("content:", Condition::Content), ("tag:", Condition::Tag)];

/// What a file has to have. Texts are folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A word or phrase in name, tags or text.
    Has(String),
    /// In the name.
    Name(String),
    /// In the path.
    Path(String),
    /// In the text.
    Content(String),
    /// A tag, or one nested below it; without its number sign.
    Tag(String),
    /// A property, with any value or with this one.
    Property(String, Option<String>),
    /// The opposite.
    Not(Box<Condition>),
    /// Each of these.
    All(Vec<Condition>),
    /// At least one of these.
    Any(Vec<Condition>),
}

/// A query.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// Words and phrases that files are ranked by, folded; a file that has some of them is a result, too.
    pub words: Vec<String>,
    /// What files have first of all, if there is a text to be found as a whole; else empty.
    pub phrase: String,
    /// Further texts that files are ranked by: those of conditions.
    pub hints: Vec<String>,
    /// What every result has.
    pub conditions: Vec<Condition>,
}

/// Reads a query; `None` when it is plain words, or is not of the language as a whole: then it is literal text.
pub fn parse(query: &str) -> Option<Parsed> {
    let mut parser = Parser { rest: query.trim(), nested: 0 };
    let condition = parser.any()?;
    if !parser.rest.is_empty() {
        return None;
    }
    let parts = match condition {
        Condition::All(parts) => parts,
        one => vec![one],
    };
    let mut parsed = Parsed::default();
    let mut plain = String::new();
    for part in parts {
        match part {
            Condition::Has(text) if !text.contains(' ') => plain = format!("{plain} {text}"),
            Condition::Has(phrase) => parsed.words.push(phrase),
            condition => {
                condition.hints(&mut parsed.hints);
                parsed.conditions.push(condition);
            }
        }
    }
    if parsed.words.is_empty() && parsed.conditions.is_empty() && !query.contains('"') {
        return None;
    }
    parsed.words.extend(of_query(&plain));
    let mut seen = HashSet::new();
    parsed.hints.retain(|hint| seen.insert(hint.clone()));
    parsed.phrase = parsed.words.join(" ");
    Some(parsed)
}

impl Parsed {
    /// A query of plain words that count, out of the text of which they are.
    pub fn of_words(words: Vec<String>, text: &str) -> Parsed {
        let phrase = fold(text).split_whitespace().collect::<Vec<_>>().join(" ");
        Parsed { words, phrase, ..Parsed::default() }
    }
}

impl Condition {
    /// The texts of which a file that fulfils this has some.
    fn hints(&self, found: &mut Vec<String>) {
        match self {
            Condition::Has(text) | Condition::Name(text) | Condition::Path(text) | Condition::Content(text) => found.push(text.clone()),
            Condition::All(parts) | Condition::Any(parts) => parts.iter().for_each(|part| part.hints(found)),
            Condition::Tag(_) | Condition::Property(..) | Condition::Not(_) => {}
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    nested: usize,
}

impl<'a> Parser<'a> {
    /// Alternatives, with `OR` between them.
    fn any(&mut self) -> Option<Condition> {
        let mut parts = vec![self.all()?];
        while self.is_at_or() {
            self.skip("OR");
            parts.push(self.all()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self) -> Option<Condition> {
        let mut parts = vec![self.part()?];
        while !self.rest.is_empty() && !self.rest.starts_with(')') && !self.is_at_or() {
            parts.push(self.part()?);
        }
        Some(if parts.len() == 1 { parts.remove(0) } else { Condition::All(parts) })
    }

    fn part(&mut self) -> Option<Condition> {
        let first = self.rest.chars().next().filter(|_| !self.is_at_or())?;
        match first {
            '-' => {
                self.rest = self.rest.strip_prefix('-')?;
                // A lone sign, and an option of a command.
                if self.rest.is_empty() || self.rest.starts_with(|c: char| c.is_whitespace() || c == '-') {
                    return None;
                }
                self.nested(|parser| parser.part()).map(|part| Condition::Not(Box::new(part)))
            }
            '(' => {
                self.skip("(");
                let inner = self.nested(|parser| parser.any())?;
                self.closed(")").map(|()| inner)
            }
            '[' => {
                let (inside, rest) = self.rest.strip_prefix('[')?.split_once(']')?;
                let (name, value) = inside.split_once(':').map_or((inside, None), |(name, value)| (name, Some(value)));
                // Links and check boxes.
                if name.trim().len() < 2 || inside.contains('[') {
                    return None;
                }
                self.rest = rest;
                self.ends_here()?;
                let unquoted = |text: &str| fold(text.trim().trim_matches('"'));
                Some(Condition::Property(unquoted(name), value.map(unquoted).filter(|value| !value.is_empty())))
            }
            '"' => self.text().map(Condition::Has),
            _ => {
                for (name, condition) in OPERATORS {
                    // An address begins with `file:///`.
                    let operand = self.rest.strip_prefix(name).filter(|rest| !rest.starts_with("//"));
                    if let Some(operand) = operand {
                        self.rest = operand.strip_prefix('#').filter(|_| name == "tag:").unwrap_or(operand);
                        return self.text().map(condition);
                    }
                }
                self.text().map(Condition::Has)
            }
        }
    }

    /// A word, or a phrase in quotes; folded.
    fn text(&mut self) -> Option<String> {
        if let Some(quoted) = self.rest.strip_prefix('"') {
            let (inside, rest) = quoted.split_once('"')?;
            self.rest = rest;
            self.ends_here()?;
            let phrase = fold(inside).split_whitespace().collect::<Vec<_>>().join(" ");
            return Some(phrase).filter(|phrase| !phrase.is_empty());
        }
        let end = self.rest.find(|c: char| c.is_whitespace() || c == '"' || self.nested > 0 && c == ')').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        self.ends_here()?;
        Some(fold(word)).filter(|word| !word.is_empty())
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.nested += 1;
        let inner = if self.nested > NESTED { None } else { read(self) };
        self.nested -= 1;
        inner
    }

    fn closed(&mut self, mark: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(mark)?;
        self.ends_here()
    }

    /// Whether a part may end here, and the next one's begin.
    fn ends_here(&mut self) -> Option<()> {
        let ends = self.rest.is_empty() || self.rest.starts_with(|c: char| c.is_whitespace() || c == ')');
        self.rest = self.rest.trim_start();
        ends.then_some(())
    }

    fn is_at_or(&self) -> bool {
        self.rest.strip_prefix("OR").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    }

    fn skip(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest).trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str) -> Condition {
        Condition::Has(text.into())
    }

    #[test]
    fn what_is_of_the_language_is_read() {
        let parsed = parse(r#"how to Brew "Black Tea" -milk tag:#drinks path:"My Notes" [status:Done] [due]"#).unwrap();
        assert_eq!(parsed.words, ["black tea", "brew"]);
        let expected = [
            Condition::Not(Box::new(has("milk"))),
            Condition::Tag("drinks".into()),
            Condition::Path("my notes".into()),
            Condition::Property("status".into(), Some("done".into())),
            Condition::Property("due".into(), None),
        ];
        assert_eq!(parsed.conditions, expected);
        let parsed = parse("tea (black OR green leaf) -(milk OR sugar)").unwrap();
        assert_eq!((parsed.words, parsed.hints), (vec!["tea".into()], vec!["black".into(), "green".into(), "leaf".into()]));
        let expected = [
            Condition::Any(vec![has("black"), Condition::All(vec![has("green"), has("leaf")])]),
            Condition::Not(Box::new(Condition::Any(vec![has("milk"), has("sugar")]))),
        ];
        assert_eq!(parsed.conditions, expected);
    }

    #[test]
    fn what_only_looks_like_it_is_literal() {
        let literal = [
            "C++",
            "a/b",
            "-",
            "- [ ] task",
            "[ ]",
            "[[Some Note]]",
            "![[a.png]]",
            "[text](url)",
            "a \"b",
            "5\" screen",
            "(a",
            "a)",
            "OR",
            "a OR",
            "OR b",
            "a -",
            "--flag",
            "file:///etc",
            "f(x)",
            "tag:",
            "[x] done",
            "plain words",
            "[a: [b]]",
            "()",
        ];
        for query in literal {
            assert_eq!(parse(query), None, "{query}");
        }
        assert_eq!(parse(&"(".repeat(500)), None);
        assert_eq!(parse(&format!("a {}b", "-(".repeat(300))), None);
    }
}
