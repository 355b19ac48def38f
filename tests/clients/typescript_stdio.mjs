// The TypeScript SDKs over stdio.
//   node typescript_stdio.mjs PROGRAM VAULT 1|2 auto|legacy
import { converse } from './conversation.mjs';
import { check, main } from './login.mjs';

const [version, mode] = process.argv.slice(4);
const sdk = version === '1'
  ? { ...(await import('@modelcontextprotocol/sdk/client/index.js')), ...(await import('@modelcontextprotocol/sdk/client/stdio.js')) }
  : { ...(await import('@modelcontextprotocol/client')), ...(await import('@modelcontextprotocol/client/stdio')) };

await main(async (command, vault) => {
  const client = new sdk.Client({ name: 'test', version: '1' }, { capabilities: {}, versionNegotiation: { mode } });
  await client.connect(new sdk.StdioClientTransport({ command, args: ['stdio', '--vault-path', vault], stderr: 'inherit' }));
  const spoken = await converse(client, version, vault);
  check(spoken === (mode === 'auto' ? '2026-07-28' : 'legacy'), `the revision: ${spoken}`);
  await client.close();
});
