// The Inspector's command line, over HTTP with a token and over stdio.
//   node inspector.mjs URL TOKEN PROGRAM VAULT
import { spawnSync } from 'node:child_process';
import { check } from './login.mjs';

const [url, token, program, vault] = process.argv.slice(2);
const inspector = new URL('./node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url).pathname;

function ask(target, ...args) {
  const done = spawnSync(process.execPath, [inspector, '--cli', ...target, ...args], { encoding: 'utf8', timeout: 60_000 });
  if (done.status !== 0) throw new Error(`${args.join(' ')}: ${done.status}\n${done.stdout}\n${done.stderr}`);
  return JSON.parse(done.stdout);
}

for (const target of [[url, '--transport', 'http', '--header', `Authorization: Bearer ${token}`], [program, 'stdio', '--vault-path', vault]]) {
  const strict = ask(target, '--method', 'tools/list', '--strict');
  check(strict.tools.length === 6, 'six tools, with schemas that every client understands');
  const read = ask(target, '--method', 'tools/call', '--tool-name', 'vault_read', '--tool-arg', 'path=Welcome.md');
  check(read.structuredContent.total_lines > 5, 'a note is read');
  const { resources } = ask(target, '--method', 'resources/list');
  check(resources.length > 40, 'the files of the vault');
  const note = ask(target, '--method', 'resources/read', '--uri', resources.find(resource => resource.name.includes('?')).uri);
  check(note.contents[0].text.length > 10, 'a note with an odd name');
  check(ask(target, '--method', 'resources/templates/list').resourceTemplates.length === 1, 'one template');
  check(ask(target, '--method', 'prompts/list').prompts.length === 2, 'two prompts');
  const prompt = ask(target, '--method', 'prompts/get', '--prompt-name', 'review_day', '--prompt-args', 'date=2026-02-08');
  check(prompt.messages.length === 2, 'a prompt with a note in it');
}
