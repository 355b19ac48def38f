//! Every file of the vault as a resource: list, template, read.

use super::progress::Progress;
use super::{Answer, Caller, Server, internal_error};
use crate::object::without_nulls;
use crate::rpc::{Error, Request};
use crate::tools::reply::fitting;
use crate::tools::{Resource, Toolset};
use crate::vault::read::{Content, Range};
use crate::vault::{Entry, Error as VaultError, VaultPath, media};
use crate::{cursor, limits, uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::sync::Arc;

/// Resources in one page of `resources/list`; the response's character limit may end it earlier.
const RESOURCES_PAGE: usize = 500;

/// The one template (RFC 6570): every file by its path. Simple expansion encodes whatever is in a
/// name, `/` too; the other kind, `{+path}`, would leave `?` and `#` as they are.
pub(super) const TEMPLATE: &str = "vault:///{path}";

/// The caller's resources besides the files.
fn resources_for(server: &Server, caller: &Caller<'_>) -> impl Iterator<Item = &'static Resource> {
    let principal = caller.principal;
    let is_theirs = |resource: &&Resource| Server::is_for(principal, *resource, Toolset::resources);
    server.resources.iter().copied().filter(is_theirs)
}

/// `resources/list`: files sorted by path, a page at a time.
///
/// # Errors
/// -32602 for a cursor that is not one of ours, -32603 when the vault cannot be read.
pub fn list(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let after = match request.cursor()? {
        None => None,
        Some(cursor) => {
            Some(cursor::last(cursor).ok_or_else(|| Error::invalid_params("Unknown cursor"))?)
        }
    };
    let found = server.store_of(caller.principal).vault().list_all(
        None,
        None,
        after.as_deref(),
        RESOURCES_PAGE + 1,
    );
    let (_, found) = found.map_err(|error| internal_error("resources/list", error))?;
    let files = fitting(found.iter().take(RESOURCES_PAGE).map(|file| listing(file)));
    let last = found
        .get(..files.len())
        .filter(|page| page.len() < found.len())
        .and_then(<[Arc<Entry>]>::last);
    // Resources that are not files come first.
    let others = resources_for(server, caller).filter(|_| after.is_none()).map(|resource| {
        json!({
            "uri": resource.uri,
            "name": resource.name,
            "title": resource.title,
            "description": resource.description,
            "mimeType": resource.mime_type,
        })
    });
    let next = last.map(|last| cursor::after(&last.path));
    let result = without_nulls(
        json!({ "resources": others.chain(files).collect::<Vec<_>>(), "nextCursor": next }),
    );
    Ok(Answer::Result(Value::Object(result).to_string()))
}

fn listing(file: &Entry) -> Value {
    json!({
        "uri": uri::of_path(&file.path),
        "name": file.name(),
        "title": file.name().strip_suffix(".md").unwrap_or(file.name()),
        "mimeType": media::of(&file.path).1,
        "size": file.stamp.size,
        "annotations": { "lastModified": file.stamp.modified().rfc3339() },
    })
}

/// `resources/templates/list`: the one template, for clients that make URIs themselves.
///
/// # Errors
/// -32602 for a cursor, since there is never a second page.
pub fn templates(_: &Server, _: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    request.no_cursor()?;
    let template = json!({
        "uriTemplate": TEMPLATE,
        "name": "file",
        "title": "A file of the vault",
        "description": "Any note or attachment by its path relative to the vault root",
    });
    Ok(Answer::Result(json!({ "resourceTemplates": [template] }).to_string()))
}

/// `resources/read`: a file as text if it is UTF-8, else in base64. A text longer than one answer
/// is cut; what follows has a URI of its own, and a second entry says so.
///
/// # Errors
/// "Resource not found" when there is no such file (a hidden one counts as none), -32602 for one
/// that is too large, -32603 when the disk refuses.
pub fn read(server: &Server, caller: &Caller<'_>, request: &Request) -> Result<Answer, Error> {
    let uri = request.text("uri")?;
    if uri.len() > limits::RESOURCE_URI_BYTES {
        return Err(Error::invalid_params(format!(
            "params.uri is longer than {} bytes",
            limits::RESOURCE_URI_BYTES
        )));
    }
    let store = server.store_of(caller.principal);
    let vault = store.vault();
    if let Some(resource) = resources_for(server, caller).find(|resource| resource.uri == uri) {
        let progress = Progress::of(caller, request);
        let text = (resource.read)(&server.context(caller, &store, &progress))
            .map_err(|error| internal_error("resources/read", error.message))?;
        let contents = json!([{ "uri": uri, "mimeType": resource.mime_type, "text": text }]);
        return Ok(Answer::Result(json!({ "contents": contents }).to_string()));
    }
    let not_found = || Error::resource_not_found(uri, caller.revision.is_modern());
    let (path, offset, column) = uri::to_part(uri).ok_or_else(not_found)?;
    let path = VaultPath::file(&path).map_err(|_| not_found())?;
    let refused = |error: VaultError| match error {
        VaultError::NotFound { .. }
        | VaultError::NotAllowed { .. }
        | VaultError::InvalidRange(_) => not_found(),
        VaultError::TooLarge { .. } => Error::invalid_params(error.to_string()),
        other => internal_error("resources/read", other),
    };
    let mime_type = media::of(path.name()).1;
    // What is left is for the rest of the JSON, such as the entry that names the next URI. `limit:
    // 0` means all lines.
    let max_chars = limits::RESULT_CHARS - 3_000;
    let contents = match vault.read(&path, Range { offset, column, limit: 0, max_chars }) {
        Ok(read) => match read.content {
            Content::Lines(lines) if !lines.lossy => {
                let mut contents =
                    vec![json!({ "uri": uri, "mimeType": mime_type, "text": lines.content })];
                if let Some((line, column)) = lines.next {
                    let rest = uri::of_rest(path.as_str(), line, column);
                    let total = lines.total_lines;
                    let words = format!(
                        "[Cut here: line {line} of {total} and what follows is the resource \
                         {rest}]"
                    );
                    contents.push(json!({ "uri": rest, "mimeType": "text/plain", "text": words }));
                }
                Ok(contents)
            }
            Content::Lines(_) => vault.blob(&path).map(|bytes| blob(uri, mime_type, &bytes)),
            Content::Blob { bytes, .. } => Ok(blob(uri, mime_type, &bytes)),
            #[cfg(feature = "pictures")]
            Content::Scaled(picture) => Ok(blob(uri, "image/jpeg", &picture.jpeg)),
        },
        Err(VaultError::NotText { .. }) => {
            vault.blob(&path).map(|bytes| blob(uri, mime_type, &bytes))
        }
        Err(error) => Err(error),
    };
    Ok(Answer::Result(json!({ "contents": contents.map_err(refused)? }).to_string()))
}

fn blob(uri: &str, mime_type: &str, bytes: &[u8]) -> Vec<Value> {
    vec![json!({ "uri": uri, "mimeType": mime_type, "blob": STANDARD.encode(bytes) })]
}
