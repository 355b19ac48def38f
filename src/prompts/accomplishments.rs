//! The prompt of toolset `accomplishments`.

use super::{Content, Prompt};
use crate::principal::Access;
use crate::tools::accomplishments::overview;
use crate::tools::schema::{ANY_TEXT, optional};
use crate::tools::{Code, Context, Error};
use crate::vault::complete::CompletionKind;

pub(super) static PROMPTS: [&Prompt; 1] = [&PLAN_PROJECT];

static PLAN_PROJECT: Prompt = Prompt {
    name: "plan_project",
    title: "Plan a project",
    description: "A planning session: what is to be achieved, in which steps, and what depends on what",
    needs: Access::Write,
    argument: optional(
        "goal",
        ANY_TEXT,
        "What is to be achieved; a tag or the name of a note, or words of your own. Without it the current project is reviewed",
    ),
    completed_from: CompletionKind::Topic,
    run: plan_project,
};

fn plan_project(context: &Context<'_>, goal: Option<&str>) -> Result<Vec<Content>, Error> {
    let status = match overview(context) {
        Ok(status) => status,
        Err(error) if error.code == Code::CanvasNotFound => {
            "There is nothing on the canvas yet.".to_owned()
        }
        Err(error) => return Err(error),
    };
    let goal = match goal {
        Some(goal) => format!("Let us plan a project together. What is to be achieved: {goal}."),
        None => "Let us go through the project and plan what comes next.".to_owned(),
    };
    let steps = include_str!("plan_project.txt");
    Ok(vec![
        Content::Text(format!("{goal}\n\n{steps}")),
        Content::Text(format!("The project as it is:\n\n{status}")),
    ])
}
