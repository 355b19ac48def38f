//! Where a node is put on a canvas.

use super::canvas::{Canvas, NODE_HEIGHT, NODE_WIDTH, Node, Position};
use std::collections::HashSet;

/// The gaps between nodes.
const HORIZONTAL_GAP: f64 = 100.0;
const VERTICAL_GAP: f64 = 50.0;
const START_X: f64 = 0.0;
const START_Y: f64 = 0.0;

/// The position for a node with these blockers. `own` is the node itself, if it is on the canvas:
/// its old position counts as free.
pub(super) fn position_for(canvas: &Canvas, blockers: &[&Node], own: Option<&str>) -> Position {
    // A group is a frame around nodes: what is free inside it is free.
    let others =
        || canvas.nodes.iter().filter(|node| Some(&*node.id) != own && node.kind != "group");
    if blockers.is_empty() {
        let pointed_to: HashSet<&str> = canvas
            .edges
            .iter()
            .map(|edge| edge.direction().map_or(&*edge.to_node, |(_, to)| to))
            .collect();
        let left = others().filter(|node| !pointed_to.contains(&*node.id));
        let lowest = left.map(|node| node.y + node.height).fold(START_Y, f64::max);
        return Position { x: START_X, y: (lowest + VERTICAL_GAP).round() };
    }
    let right = blockers.iter().map(|node| node.x + node.width).fold(f64::NEG_INFINITY, f64::max);
    let x = (right + HORIZONTAL_GAP).round();
    let wanted = (blockers.iter().map(|node| node.y).sum::<f64>() / blockers.len() as f64).round();
    let column: Vec<&Node> =
        others().filter(|node| touch((x, NODE_WIDTH), (node.x, node.width))).collect();
    let is_free =
        |y: f64| column.iter().all(|node| !touch((y, NODE_HEIGHT), (node.y, node.height)));
    let step = NODE_HEIGHT + VERTICAL_GAP;
    // Nodes may be of any size; below all of them it is always free.
    let lowest = column.iter().map(|node| node.y + node.height).fold(wanted, f64::max);
    let steps = (((lowest - wanted) / step).ceil() + 1.0).clamp(1.0, STEPS) as u32;
    let tried = (1..=steps)
        .flat_map(|count| [wanted + step * f64::from(count), wanted - step * f64::from(count)]);
    let found = std::iter::once(wanted)
        .chain(tried.filter(|y| *y > wanted || *y >= START_Y))
        .find(|y| is_free(*y));
    Position { x, y: found.unwrap_or(lowest + VERTICAL_GAP).round() }
}

/// Steps that are tried before the node goes below everything: nodes may be arbitrarily tall.
const STEPS: f64 = 10_000.0;

/// Whether two intervals, each a start and a length, overlap or touch.
fn touch((start, length): (f64, f64), (other, other_length): (f64, f64)) -> bool {
    start <= other + other_length && other <= start + length
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(
        nodes: &[(&str, f64, f64, f64, f64)],
        edges: &[(&str, &str)],
        blockers: &[&str],
        own: Option<&str>,
    ) -> (f64, f64) {
        let nodes: Vec<String> = nodes
            .iter()
            .map(|(id, x, y, w, h)| {
                let kind = if id.starts_with("group") { "group" } else { "text" };
                format!(
                    r#"{{"id":"{id}","type":"{kind}","x":{x},"y":{y},"width":{w},"height":{h}}}"#
                )
            })
            .collect();
        let edges: Vec<String> = edges
            .iter()
            .map(|(from, to)| {
                format!(r#"{{"id":"{from}{to}","fromNode":"{from}","toNode":"{to}"}}"#)
            })
            .collect();
        let text = format!(r#"{{"nodes":[{}],"edges":[{}]}}"#, nodes.join(","), edges.join(","));
        let canvas = Canvas::parse(&text).unwrap();
        let blockers: Vec<&Node> =
            canvas.nodes.iter().filter(|node| blockers.contains(&&*node.id)).collect();
        let Position { x, y } = position_for(&canvas, &blockers, own);
        (x, y)
    }

    #[test]
    fn nodes_get_the_expected_positions() {
        let a = ("a", 0.0, 50.0, 400.0, 300.0);
        assert_eq!(at(&[], &[], &[], None), (0.0, 50.0));
        assert_eq!(at(&[a], &[], &[], None), (0.0, 400.0));
        let b = ("b", 500.0, 50.0, 400.0, 900.0);
        assert_eq!(
            at(&[a, b], &[("a", "b")], &[], None),
            (0.0, 400.0),
            "b is not in the left column"
        );
        assert_eq!(at(&[a, b], &[], &[], None), (0.0, 1000.0));
        assert_eq!(at(&[a], &[], &["a"], None), (500.0, 50.0));
        let c = ("c", 500.0, 50.0, 400.0, 300.0);
        assert_eq!(at(&[a, c], &[], &["a"], None), (500.0, 400.0), "one step down");
        assert_eq!(
            at(&[a, c], &[], &["a"], Some("c")),
            (500.0, 50.0),
            "its own old position is free"
        );
        let d = ("d", 880.0, 400.0, 50.0, 10.0);
        assert_eq!(
            at(&[("a", 0.0, 400.0, 400.0, 300.0), d], &[], &["a"], None),
            (500.0, 750.0),
            "down before up"
        );
        assert_eq!(
            at(
                &[("a", 0.0, 400.0, 400.0, 300.0), d, ("e", 500.0, 750.0, 1.0, 1.0)],
                &[],
                &["a"],
                None
            ),
            (500.0, 50.0),
            "then up"
        );
        assert_eq!(
            at(&[a, c, ("e", 500.0, 400.0, 1.0, 1.0)], &[], &["a"], None),
            (500.0, 750.0),
            "never above the start"
        );
        assert_eq!(
            at(&[a, ("f", 500.0, 350.0, 400.0, 300.0)], &[], &["a"], None),
            (500.0, 750.0),
            "touching is taken"
        );
        let g = ("g", 100.0, 101.0, 401.0, 300.0);
        assert_eq!(
            at(&[a, g], &[], &["a", "g"], None),
            (601.0, 76.0),
            "right of both, in the middle, rounded"
        );
        assert_eq!(
            at(&[a, ("h", 0.0, -1e9, 9e9, 2e9)], &[], &["a"], None),
            (500.0, 1_000_000_050.0),
            "below what has no end"
        );
        let group = ("group", -50.0, 0.0, 2000.0, 2000.0);
        assert_eq!(
            at(&[a, group], &[], &["a"], None),
            (500.0, 50.0),
            "next to its blocker, inside the group"
        );
        assert_eq!(
            at(&[a, group], &[], &[], None),
            (0.0, 400.0),
            "below the nodes and not below the group's border"
        );
    }
}
