// The TypeScript SDKs through a whole login: 401, discovery, registration, PKCE, login page, token, conversation, refresh.
//   node typescript.mjs URL USER PASSWORD VAULT 1|2 auto|legacy
import { converse, search } from './conversation.mjs';
import { Provider, check, logIn, main } from './login.mjs';

const [vault, version, mode] = process.argv.slice(5);
const sdk = version === '1'
  ? { ...(await import('@modelcontextprotocol/sdk/client/index.js')), ...(await import('@modelcontextprotocol/sdk/client/streamableHttp.js')) }
  : await import('@modelcontextprotocol/client');

await main(async (url, user, password) => {
  const provider = new Provider(`TypeScript SDK ${version}`, 'http://127.0.0.1:33421/callback');
  const transport = () => new sdk.StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
  const client = () => new sdk.Client({ name: 'test', version: '1' }, { capabilities: {}, versionNegotiation: { mode } });
  const first = transport();
  await client().connect(first).catch(() => {});
  check(provider.authorizationUrl, 'the SDK asks for a login');
  const back = await logIn(provider.authorizationUrl, user, password);
  check(back.searchParams.get('state') === provider.sent, 'state comes back');
  await first.finishAuth(version === '1' ? back.searchParams.get('code') : back.searchParams);
  const connection = transport();
  const connected = client();
  await connected.connect(connection);
  const spoken = await converse(connected, version, vault);
  check(spoken === (mode === 'auto' ? '2026-07-28' : 'legacy'), `the revision: ${spoken}`);
  const before = provider.saved;
  provider.saved = { ...before, access_token: 'expired' };
  check(!(await search(connected)).isError, 'a call after the access token expired');
  check(provider.saved.refresh_token !== before.refresh_token, 'the refresh token was exchanged');
  await connection.terminateSession();
  await connected.close();
});
