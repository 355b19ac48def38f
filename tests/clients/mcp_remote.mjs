// mcp-remote, which Claude Desktop and others use to reach a remote server, over its stdio.
//   node mcp_remote.mjs URL USER PASSWORD
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { check, logIn, main } from './login.mjs';

await main(async (url, user, password) => {
  const home = mkdtempSync(path.join(tmpdir(), 'mcp-remote-'));
  const program = new URL('./node_modules/mcp-remote/dist/proxy.js', import.meta.url).pathname;
  // It opens a browser and also prints the address; the browser is a program that does nothing, the address is used.
  const env = { PATH: process.env.PATH, HOME: home, MCP_REMOTE_CONFIG_DIR: home, BROWSER: '/bin/true' };
  const child = spawn(process.execPath, [program, url, '--allow-http'], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  readline.createInterface({ input: child.stderr }).on('line', async line => {
    const address = /^(http\S+\/oauth\/authorize\?\S+)$/.exec(line.trim());
    if (address) await fetch(await logIn(address[1], user, password));
  });
  const answers = new Map();
  readline.createInterface({ input: child.stdout }).on('line', line => {
    const message = JSON.parse(line);
    answers.get(message.id)?.(message);
  });
  const send = message => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
  const ask = (id, method, params) => new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`no answer to ${method}`)), 30_000).unref();
    answers.set(id, resolve);
    send({ id, method, params });
  });
  try {
    const hello = await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
    check(hello.result.serverInfo.name === 'vault-sync-mcp', 'the handshake');
    send({ method: 'notifications/initialized' });
    check((await ask(2, 'tools/list', {})).result.tools.length === 6, 'six tools');
    const read = await ask(3, 'tools/call', { name: 'vault_read', arguments: { path: 'Welcome.md' } });
    check(read.result.structuredContent.total_lines > 5, 'a note is read');
  } finally {
    child.kill();
  }
});
