//! A canvas (JSON Canvas 1.0): read, and edited in place.

use super::{Error, invalid, malformed};
use crate::markdown::json;
use crate::vault::{VaultPath, composed};
use serde::Deserialize;
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
        let mut canvas: Canvas = serde_json::from_str(text).map_err(|error| {
            format!("it is not a JSON Canvas at line {} column {}", error.line(), error.column())
        })?;
        for file in canvas.nodes.iter_mut().filter_map(|node| node.file.as_mut()) {
            *file = composed(file.trim_start_matches("./").trim_start_matches('/')).into_owned();
        }
        Ok(canvas)
    }

    /// The node that shows a note.
    pub(super) fn node_of<'a>(&'a self, path: &'a VaultPath) -> Option<&'a Node> {
        self.nodes_of(path).map(|(_, node)| node).next()
    }

    /// All nodes that show a note, each with its number.
    pub(super) fn nodes_of<'a>(
        &'a self,
        path: &'a VaultPath,
    ) -> impl Iterator<Item = (usize, &'a Node)> {
        let is_of = |node: &Node| node.file.as_deref() == Some(path.as_str());
        self.nodes.iter().enumerate().filter(move |(_, node)| is_of(node))
    }
}

/// A canvas that is being edited.
#[derive(Debug, Clone)]
pub(super) struct EditedCanvas {
    /// Its text.
    pub(super) text: String,
    /// Its name in messages.
    name: String,
}

impl EditedCanvas {
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed) for anything but a canvas.
    pub(super) fn new(text: String, name: &str) -> Result<EditedCanvas, Error> {
        let empty = text.trim_start_matches('\u{feff}').trim().is_empty();
        let text = if empty { "{\n\t\"nodes\":[],\n\t\"edges\":[]\n}".to_owned() } else { text };
        let canvas = EditedCanvas { text, name: name.to_owned() };
        canvas.check()?;
        Ok(canvas)
    }

    /// Whether it can be edited: what serde accepts may still not be a JSON Canvas, and an edit
    /// would break it.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |why: &str| Err(malformed(&self.name)(why.to_owned()));
        let canvas = self.read()?;
        if self.text.as_bytes().get(self.start()) != Some(&b'{') {
            return wrong("it is not a JSON object");
        }
        for list in ["nodes", "edges"] {
            let Some(range) = json::member(&self.text, self.start(), list) else { continue };
            let objects = json::elements(&self.text, range.start);
            if self.text.as_bytes().get(range.start) != Some(&b'[')
                || objects.iter().any(|one| self.text.as_bytes().get(one.start) != Some(&b'{'))
            {
                return wrong("its nodes and edges are not lists of objects");
            }
        }
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
        Canvas::parse(&self.text).map_err(malformed(&self.name))
    }

    fn start(&self) -> usize {
        json::start(&self.text)
    }

    /// Where a list begins; it is created if missing.
    fn list(&mut self, name: &str) -> usize {
        if json::member(&self.text, self.start(), name).is_none() {
            self.text = json::with_member(&self.text, self.start(), name, "[]");
        }
        json::member(&self.text, self.start(), name).map_or(0, |range| range.start)
    }

    fn add(&mut self, list: &str, members: &[(&str, String)]) {
        let array = self.list(list);
        self.text = json::with_element(&self.text, array, members);
    }

    /// Adds a node for a file.
    pub(super) fn add_node(&mut self, id: &str, file: &VaultPath, at: Position) {
        let members = [
            ("id", text(id)),
            ("type", text("file")),
            ("file", text(file.as_str())),
            ("x", at.x.to_string()),
            ("y", at.y.to_string()),
            ("width", NODE_WIDTH.to_string()),
            ("height", NODE_HEIGHT.to_string()),
            ("color", text("3")),
        ];
        self.add("nodes", &members);
    }

    /// Adds an edge from a node to the one that it blocks.
    pub(super) fn add_edge(&mut self, id: &str, blocker: &str, blocked: &str) {
        let members = [
            ("id", text(id)),
            ("fromNode", text(blocker)),
            ("fromSide", text("right")),
            ("toNode", text(blocked)),
            ("toSide", text("left")),
        ];
        self.add("edges", &members);
    }

    /// Removes nodes or edges, given by their numbers.
    pub(super) fn remove(&mut self, list: &str, numbers: &[usize]) {
        if !numbers.is_empty() {
            let array = self.list(list);
            self.text = json::without(&self.text, array, numbers);
        }
    }

    /// Removes every node that shows a file, with its edges.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn remove_file(&mut self, file: &VaultPath) -> Result<(), Error> {
        let (nodes, ids): (Vec<usize>, HashSet<String>) = self.nodes_of(file)?.into_iter().unzip();
        let edges = self.read()?.edges.into_iter().enumerate();
        let edges =
            edges.filter(|(_, edge)| ids.contains(&edge.from_node) || ids.contains(&edge.to_node));
        self.remove("edges", &edges.map(|(number, _)| number).collect::<Vec<_>>());
        self.remove("nodes", &nodes);
        Ok(())
    }

    /// Makes every node that shows a file show another.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn rename_file(&mut self, from: &VaultPath, to: &VaultPath) -> Result<(), Error> {
        let numbers = self.nodes_of(from)?.into_iter().map(|(number, _)| number).collect();
        self.set(numbers, &[("file", text(to.as_str()))]);
        Ok(())
    }

    /// Moves a node.
    ///
    /// # Errors
    /// [`Malformed`](crate::vault::Error::Malformed).
    pub(super) fn move_node(&mut self, id: &str, to: Position) -> Result<(), Error> {
        let number = self.read()?.nodes.iter().position(|node| node.id == id);
        self.set(number.into_iter().collect(), &[("x", to.x.to_string()), ("y", to.y.to_string())]);
        Ok(())
    }

    fn nodes_of(&self, file: &VaultPath) -> Result<Vec<(usize, String)>, Error> {
        Ok(self.read()?.nodes_of(file).map(|(number, node)| (number, node.id.clone())).collect())
    }

    /// Sets these members of nodes.
    fn set(&mut self, numbers: Vec<usize>, members: &[(&str, String)]) {
        for (number, (name, value)) in
            numbers.iter().flat_map(|number| members.iter().map(move |member| (*number, member)))
        {
            let array = self.list("nodes");
            if let Some(node) = json::elements(&self.text, array).get(number) {
                self.text = json::with_member(&self.text, node.start, name, value);
            }
        }
    }
}

/// The largest coordinate or size on a canvas.
const MAX_COORDINATE: f64 = 1e12;

fn text(text: &str) -> String {
    serde_json::Value::String(text.to_owned()).to_string()
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
             to be on one canvas. Drag the note {} onto it in Obsidian.",
            name.as_str(),
            path.as_str()
        ))
    })
}
