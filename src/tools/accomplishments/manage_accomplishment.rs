//! `manage_accomplishment`: creating, updating and deleting accomplishments.

use super::{ID, IF_MATCH, OPERATION, SUCCESS, projects};
use crate::accomplishments::{Data, EFFORTS, PRIORITIES, STATUSES};
use crate::tools::schema::{ANY_TEXT, Shape, optional, required};
use crate::tools::{Arguments, Context, Effect, Error, Fact, Reply, Tool};
use crate::vault::VaultPath;
use serde_json::json;

pub(super) static TOOL: Tool = Tool {
    name: "manage_accomplishment",
    title: "Create, update or delete an accomplishment",
    description: "Creates, updates or deletes an accomplishment, one step of a project: a note, \
                  and a node on a canvas with edges from what it depends on; for its tasks use \
                  manage_task. create needs data.title and data.effort. update changes only what \
                  data names. delete moves the note to the vault's trash, and removes its node, \
                  its edges and its id where others depended on it.",
    effect: Effect::Replaces { idempotent: false },
    facts: &[Fact::Ability("plan projects on canvases and move notes to the trash")],
    input: &[
        required("operation", Shape::OneOf(&["create", "update", "delete"]), "What to do"),
        optional(
            "id",
            ANY_TEXT,
            "For update and delete; to create, leave it out to get the next one",
        ),
        optional(
            "data",
            Shape::Object(&[
                optional(
                    "title",
                    ANY_TEXT,
                    "Required to create. One line; another title also renames the note, with the \
                     links to it",
                ),
                optional("effort", Shape::OneOf(&EFFORTS), "Required to create: kind of work"),
                optional("priority", Shape::OneOf(&PRIORITIES), "High unless given"),
                optional("status", Shape::Status(&STATUSES), "Not Started unless given"),
                optional(
                    "outcome",
                    ANY_TEXT,
                    "The state when it is done; Markdown without headings of level 1 or 2",
                ),
                optional(
                    "acceptance_criteria",
                    Shape::List(&ANY_TEXT),
                    "All criteria, one line each. One that exists keeps its box; to tick or \
                     untick one, begin it with [x] or [ ]",
                ),
                optional(
                    "depends_on",
                    Shape::List(&ANY_TEXT),
                    "All ids it depends on; on the same canvas",
                ),
                optional(
                    "canvas_source",
                    ANY_TEXT,
                    "Only to create; without it the default canvas",
                ),
                optional(
                    "notes",
                    ANY_TEXT,
                    "Only to update: the section Notes, without headings of level 1 or 2",
                ),
                optional(
                    "inProgress",
                    Shape::Flag,
                    "Only to update: whether it is being worked on",
                ),
            ]),
            "What it is to be",
        ),
        IF_MATCH,
    ],
    output: &[
        SUCCESS,
        OPERATION,
        optional("accomplishment", Shape::AnyObject, "As it is now; not after delete"),
        optional("id", ANY_TEXT, "What was deleted"),
    ],
    run,
};

fn run(context: &Context<'_>, arguments: &Arguments) -> Result<Reply, Error> {
    let (projects, store) = (projects(context)?, context.store);
    let data: Data = arguments.read("data")?;
    let (operation, if_match) = (arguments.text("operation"), arguments.maybe("if_match"));
    let named =
        data.canvas_source.filter(|named| operation == "create" && !named.trim().is_empty());
    let canvas = named.map(|named| context.path(named)).transpose()?;
    let data = Data {
        canvas_source: canvas.as_ref().map(VaultPath::as_str).or(data.canvas_source),
        ..data
    };
    let id = || {
        arguments.maybe("id").ok_or_else(|| Error::invalid(format!("Argument id is missing: {ID}")))
    };
    let changed = match operation {
        "create" => projects.create(store, arguments.maybe("id"), &data),
        "update" => projects.update(store, id()?, &data, if_match),
        _ => {
            let id = id()?;
            projects.delete(store, id, if_match)?;
            return Reply::of(&json!({ "success": true, "operation": operation, "id": id }));
        }
    };
    let changed = changed?;
    let accomplishment = super::changed(context, &changed)?;
    Reply::of(&json!({ "success": true, "operation": operation, "accomplishment": accomplishment }))
}
