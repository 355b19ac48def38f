// What every TypeScript client does once it is connected, over HTTP and over stdio: tools, resources, prompts, completion,
// and a note that changes on disk.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { check } from './login.mjs';

export const search = client => client.callTool({ name: 'vault_search', arguments: { query: 'heating controller' } });

/** `version` is the SDK's: '1' or '2'. `vault` is the folder that the server serves. */
export async function converse(client, version, vault) {
  const { tools } = await client.listTools();
  check(tools.length === 6, 'six tools');
  const found = await search(client);
  check(!found.isError && found.structuredContent.total_matches > 0, 'the search finds something');
  const { resources } = await client.listResources();
  const note = await client.readResource({ uri: resources.at(-1).uri });
  check(note.contents.length === 1, 'a resource is read');
  check((await client.listPrompts()).prompts.length === 2, 'two prompts');
  const { completion } = await client.complete({ ref: { type: 'ref/prompt', name: 'tidy_note' }, argument: { name: 'path', value: 'welc' } });
  check(completion.values[0] === 'Welcome.md', 'a path is completed');
  const { messages } = await client.getPrompt({ name: 'tidy_note', arguments: { path: completion.values[0] } });
  check(messages[1].content.resource.uri === 'vault:///Welcome.md', 'a prompt with the note in it');

  const name = `changed ${process.pid}.md`;
  const uri = `vault:///${encodeURIComponent(name)}`;
  writeFileSync(path.join(vault, name), 'before');
  const told = new Promise((resolve, reject) => {
    const heard = notification => notification.params.uri === uri && resolve();
    if (version === '1') client.setNotificationHandler(ResourceUpdatedNotificationSchema, heard);
    else client.setNotificationHandler('notifications/resources/updated', heard);
    setTimeout(() => reject(new Error('the change was not told within five seconds')), 5_000).unref();
  });
  const modern = version === '2' && client.getNegotiatedProtocolVersion?.() === '2026-07-28';
  const subscription = modern ? await client.listen({ resourceSubscriptions: [uri] }) : await client.subscribeResource({ uri });
  writeFileSync(path.join(vault, name), 'after');
  await told;
  if (modern) await subscription.close();
  else await client.unsubscribeResource({ uri });
  return modern ? '2026-07-28' : 'legacy';
}
