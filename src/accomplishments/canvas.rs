//! A canvas (JSON Canvas 1.0): read, and edited as data. What is not ours is kept, in its order;
//! the layout becomes Obsidian's own.

use super::{Error, invalid, malformed};
use crate::vault::{VaultPath, composed};
use serde::Deserialize;
use serde_yaml::{Mapping, Value};
use std::collections::HashSet;

/// The position on a canvas of a node's upper left corner; y grows downwards. Whole numbers, as
/// JSON Canvas has them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Position {
    /// From left to right.
    pub x: f64,
    /// From top to bottom.
    pub y: f64,
}

/// Size of a new node.
pub(super) const NODE_WIDTH: f64 = 400.0;
/// See [`NODE_WIDTH`].
pub(super) const NODE_HEIGHT: f64 = 300.0;

/// A node; other members are kept and ignored.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) id: String,
    /// The file that it shows, in NFC, as paths of the vault are.
    pub(super) file: Option<String>,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// An edge as it is drawn.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Edge {
    pub(super) id: String,
    /// The node from which it was drawn, whichever end has the arrow.
    pub(super) from_node: String,
    pub(super) to_node: String,
    from_end: Option<String>,
    to_end: Option<String>,
}

/// A canvas that was read.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Canvas {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

impl Edge {
    /// The node that blocks and the one that is blocked: an edge blocks in the direction of its
    /// arrow (JSON Canvas: an arrow at the end and none at the beginning, unless it says
    /// otherwise). `None` for an edge with no arrow, or two.
    pub(super) fn direction(&self) -> Option<(&str, &str)> {
        let arrow = |end: &Option<String>, default: bool| {
            end.as_deref().map_or(default, |end| end == "arrow")
        };
        match (arrow(&self.from_end, false), arrow(&self.to_end, true)) {
            (false, true) => Some((&self.from_node, &self.to_node)),
            (true, false) => Some((&self.to_node, &self.from_node)),
            _ => None,
        }
    }
}

impl Canvas {
    /// Reads a canvas. An empty file is an empty canvas.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn parse(text: &str) -> Result<Canvas, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(Canvas::default());
        }
        let mut canvas: Canvas = serde_json::from_str(text).map_err(not_a_canvas)?;
        canvas.compose();
        Ok(canvas)
    }

    fn compose(&mut self) {
        for file in self.nodes.iter_mut().filter_map(|node| node.file.as_mut()) {
            *file = composed(file.trim_start_matches("./").trim_start_matches('/')).into_owned();
        }
    }

    /// The node that shows a note.
    pub(super) fn node_of<'a>(&'a self, path: &'a VaultPath) -> Option<&'a Node> {
        self.nodes_of(path).map(|(_, node)| node).next()
    }

    /// All nodes that show a note, each with its number.
    fn nodes_of<'a>(&'a self, path: &'a VaultPath) -> impl Iterator<Item = (usize, &'a Node)> {
        let is_of = |node: &Node| node.file.as_deref() == Some(path.as_str());
        self.nodes.iter().enumerate().filter(move |(_, node)| is_of(node))
    }
}

fn not_a_canvas(error: serde_json::Error) -> String {
    format!("it is not a JSON Canvas at line {} column {}", error.line(), error.column())
}

/// A canvas that is being edited.
#[derive(Debug, Clone)]
pub(super) struct EditedCanvas {
    /// Its members in their order, which `serde_json` does not keep.
    value: Mapping,
    /// Its text, until it is changed.
    unchanged: Option<String>,
    /// Its name in messages.
    name: String,
}

impl EditedCanvas {
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed) for anything but a canvas.
    pub(super) fn new(text: String, name: &str) -> Result<EditedCanvas, Error> {
        let json = text.trim_start_matches('\u{feff}').trim();
        let json = if json.is_empty() { r#"{"nodes":[],"edges":[]}"# } else { json };
        let mut value: Mapping =
            serde_json::from_str(json).map_err(|error| malformed(name)(not_a_canvas(error)))?;
        for list in ["nodes", "edges"] {
            let list = value.entry(list.into()).or_insert(Value::Sequence(Vec::new()));
            if !list.as_sequence().is_some_and(|list| list.iter().all(Value::is_mapping)) {
                let why = "its nodes and edges are not lists of objects";
                return Err(malformed(name)(why.into()));
            }
        }
        let canvas = EditedCanvas { value, unchanged: Some(text), name: name.to_owned() };
        canvas.check()?;
        Ok(canvas)
    }

    /// Its text: the old one unless it was changed; else in Obsidian's layout, a node or an edge in
    /// each line.
    pub(super) fn text(&self) -> String {
        if let Some(text) = &self.unchanged {
            return text.clone();
        }
        let members = self.value.iter().map(|(name, value)| {
            let (open, lines, close) = match value {
                Value::Sequence(items) => ("[", items.iter().map(json).collect(), "]"),
                Value::Mapping(members) => ("{", members.iter().map(json_member).collect(), "}"),
                _ => ("", Vec::new(), ""),
            };
            if lines.is_empty() {
                return format!("\t{}", json_member((name, value)));
            }
            format!("\t{}:{open}\n\t\t{}\n\t{close}", json(name), lines.join(",\n\t\t"))
        });
        format!("{{\n{}\n}}", members.collect::<Vec<_>>().join(",\n"))
    }

    /// Whether it can be edited: what serde accepts may still not be a JSON Canvas.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |why: &str| Err(malformed(&self.name)(why.to_owned()));
        let canvas = self.read()?;
        let mut ids = HashSet::new();
        if canvas.nodes.iter().any(|node| !ids.insert(&*node.id)) {
            return wrong("two of its nodes have the same id");
        }
        let far = |number: f64| !(-MAX_COORDINATE..=MAX_COORDINATE).contains(&number);
        if canvas
            .nodes
            .iter()
            .any(|node| [node.x, node.y, node.width, node.height].into_iter().any(far))
        {
            return wrong("a node is too large, or too far out");
        }
        Ok(())
    }

    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn read(&self) -> Result<Canvas, Error> {
        let value = Value::Mapping(self.value.clone());
        let mut canvas: Canvas = serde_yaml::from_value(value)
            .map_err(|error| malformed(&self.name)(format!("it is not a JSON Canvas: {error}")))?;
        canvas.compose();
        Ok(canvas)
    }

    /// The nodes or edges, which are about to be changed.
    fn list(&mut self, name: &str) -> Option<&mut Vec<Value>> {
        self.unchanged = None;
        self.value.get_mut(name).and_then(Value::as_sequence_mut)
    }

    fn add<const N: usize>(&mut self, list: &str, members: [(&str, Value); N]) {
        if let Some(list) = self.list(list) {
            let members = members.into_iter().map(|(name, value)| (Value::from(name), value));
            list.push(Value::Mapping(members.collect()));
        }
    }

    /// Adds a node for a file.
    pub(super) fn add_node(&mut self, id: &str, file: &VaultPath, at: Position) {
        let members = [
            ("id", id.into()),
            ("type", "file".into()),
            ("file", file.as_str().into()),
            ("x", (at.x as i64).into()),
            ("y", (at.y as i64).into()),
            ("width", (NODE_WIDTH as i64).into()),
            ("height", (NODE_HEIGHT as i64).into()),
            ("color", "3".into()),
        ];
        self.add("nodes", members);
    }

    /// Adds an edge from a node to the one that it blocks.
    pub(super) fn add_edge(&mut self, id: &str, blocker: &str, blocked: &str) {
        let members = [
            ("id", id.into()),
            ("fromNode", blocker.into()),
            ("fromSide", "right".into()),
            ("toNode", blocked.into()),
            ("toSide", "left".into()),
        ];
        self.add("edges", members);
    }

    /// Removes edges, given by their numbers.
    pub(super) fn remove_edges(&mut self, numbers: &[usize]) {
        self.remove("edges", numbers);
    }

    fn remove(&mut self, list: &str, numbers: &[usize]) {
        if numbers.is_empty() {
            return;
        }
        let numbers: HashSet<usize> = numbers.iter().copied().collect();
        if let Some(list) = self.list(list) {
            let mut number = 0..;
            list.retain(|_| number.next().is_none_or(|number| !numbers.contains(&number)));
        }
    }

    /// Removes every node that shows a file, with its edges.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn remove_file(&mut self, file: &VaultPath) -> Result<(), Error> {
        let canvas = self.read()?;
        let (nodes, ids): (Vec<usize>, HashSet<&str>) =
            canvas.nodes_of(file).map(|(number, node)| (number, &*node.id)).unzip();
        let edges: Vec<usize> = (0..)
            .zip(&canvas.edges)
            .filter(|(_, edge)| ids.contains(&*edge.from_node) || ids.contains(&*edge.to_node))
            .map(|(number, _)| number)
            .collect();
        self.remove("edges", &edges);
        self.remove("nodes", &nodes);
        Ok(())
    }

    /// Makes every node that shows a file show another.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn rename_file(&mut self, from: &VaultPath, to: &VaultPath) -> Result<(), Error> {
        let numbers: Vec<usize> = self.read()?.nodes_of(from).map(|(number, _)| number).collect();
        for number in numbers {
            self.set(number, "file", to.as_str().into());
        }
        Ok(())
    }

    /// Moves a node.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn move_node(&mut self, id: &str, to: Position) -> Result<(), Error> {
        if let Some(number) = self.read()?.nodes.iter().position(|node| node.id == id) {
            self.set(number, "x", (to.x as i64).into());
            self.set(number, "y", (to.y as i64).into());
        }
        Ok(())
    }

    /// Sets a member of a node.
    fn set(&mut self, number: usize, name: &str, value: Value) {
        let node = self.list("nodes").and_then(|nodes| nodes.get_mut(number));
        if let Some(node) = node.and_then(Value::as_mapping_mut) {
            node.insert(name.into(), value);
        }
    }
}

/// The largest coordinate or size on a canvas.
const MAX_COORDINATE: f64 = 1e12;

/// A value that was read from JSON, as JSON.
fn json(value: &Value) -> String {
    // Only keys that are no texts and numbers that are not finite fail, and JSON has neither.
    serde_json::to_string(value).unwrap_or_default()
}

fn json_member((name, value): (&Value, &Value)) -> String {
    format!("{}:{}", json(name), json(value))
}

/// The node of an accomplishment, which has to be on this canvas.
pub(super) fn node_of<'a>(
    canvas: &'a Canvas,
    path: &'a VaultPath,
    id: &str,
    name: &VaultPath,
) -> Result<&'a Node, Error> {
    canvas.node_of(path).ok_or_else(|| {
        invalid(format!(
            "{id} is not on the canvas {}: dependencies are edges, so both accomplishments have \
             to be on one canvas. Give canvas_source: a canvas that shows both. Or drag the note \
             {} onto this one in Obsidian.",
            name.as_str(),
            path.as_str()
        ))
    })
}
