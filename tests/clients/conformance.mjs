// The official conformance suite.
//   node conformance.mjs URL TOKEN REVISION             a revision's required scenarios, less those of its baseline file
//   node conformance.mjs URL USER PASSWORD authorization   the authorization server
// The suite knows no tokens, so a proxy on loopback puts one in front of what it sends; what it says of Host and Origin
// passes through unless it names the proxy.
import { spawn } from 'node:child_process';
import http from 'node:http';
import readline from 'node:readline';
import { logIn } from './login.mjs';

const suite = new URL('./node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url).pathname;

function run(args, onLine = () => {}) {
  const child = spawn(process.execPath, [suite, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  readline.createInterface({ input: child.stdout }).on('line', line => { console.log(line); onLine(line); });
  return new Promise(resolve => child.on('exit', code => resolve(code ?? 1)));
}

async function server(url, token, revision) {
  const upstream = new URL(url);
  const proxy = http.createServer((request, response) => {
    const own = `127.0.0.1:${proxy.address().port}`;
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    if (headers.host === own) headers.host = upstream.host;
    if (headers.origin === `http://${own}`) headers.origin = upstream.origin;
    const forward = http.request({ host: upstream.hostname, port: upstream.port, method: request.method, path: request.url, headers }, answer => {
      response.writeHead(answer.statusCode, answer.rawHeaders);
      response.flushHeaders();
      answer.pipe(response);
    });
    forward.on('error', () => response.destroy());
    response.on('close', () => forward.destroy());   // a client that hangs up cancels upstream
    request.pipe(forward);
  });
  await new Promise(resolve => proxy.listen(0, '127.0.0.1', resolve));
  const through = `http://127.0.0.1:${proxy.address().port}${upstream.pathname}`;
  return run(['server', '--url', through, '--requirements', revision, '--expected-failures', `baseline-${revision}.yml`]);
}

async function authorization(url, user, password) {
  const origin = new URL(url).origin;
  // Below the ports that the system gives to outgoing connections: one of those may be in use.
  const port = 18424;
  const redirect_uris = [`http://127.0.0.1:${port}/callback`];
  const body = JSON.stringify({ client_name: 'conformance', redirect_uris, token_endpoint_auth_method: 'none' });
  const registered = await fetch(`${origin}/oauth/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { client_id } = await registered.json();
  // The suite says where to log in before it listens for the way back.
  let address;
  return run(['authorization', '--url', origin, '--client-id', client_id, '--resource', url, '-p', String(port)], async line => {
    address = /^(http\S+code_challenge=\S+)$/.exec(line.trim())?.[1] ?? address;
    if (line.startsWith('Callback server started')) await fetch(await logIn(address, user, password));
  });
}

const [url, ...rest] = process.argv.slice(2);
process.exit(rest.at(-1) === 'authorization' ? await authorization(url, ...rest) : await server(url, ...rest));
