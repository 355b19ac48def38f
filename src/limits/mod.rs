//! The bounds on what others can cost, each once, with its unit in the name or type and its reason in its comment. (What a
//! setting may be is said in `config`.)
//!
//! A peer, a model or a vault may be as large, slow or hostile as it likes; what it can cost is written here.

mod agent;
mod http;
mod mcp;
mod oauth;
mod tools;
mod vault;

pub use agent::*;
pub use http::*;
pub use mcp::*;
pub use oauth::*;
pub use tools::*;
pub use vault::*;
