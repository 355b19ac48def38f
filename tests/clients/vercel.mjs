// Vercel's ai, with its own login and a model that is a script: node vercel.mjs URL USER PASSWORD MODEL_URL
import { createAnthropic } from '@ai-sdk/anthropic';
import { auth, createMCPClient } from '@ai-sdk/mcp';
import { generateText, stepCountIs } from 'ai';
import { Provider, check, logIn, main } from './login.mjs';

await main(async (url, user, password) => {
  const authProvider = new Provider('Vercel', 'http://127.0.0.1:33423/callback');
  await auth(authProvider, { serverUrl: url });
  const back = (await logIn(authProvider.authorizationUrl, user, password)).searchParams;
  await auth(authProvider, { serverUrl: url, authorizationCode: back.get('code'), callbackState: back.get('state') });
  const client = await createMCPClient({ transport: { type: 'http', url, authProvider } });
  const provider = createAnthropic({ baseURL: process.argv[5] + '/v1', apiKey: 'none' });
  const { text } = await generateText({ model: provider('claude-sonnet-4-5'), tools: await client.tools(), stopWhen: stepCountIs(9), prompt: 'Use my vault.' });
  check(text === 'done', text);
  await client.close();
});
