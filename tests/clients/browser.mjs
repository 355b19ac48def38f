// The login page in a real browser: a phone in dark mode without JavaScript, and a desktop with the keyboard alone.
//   node browser.mjs URL USER PASSWORD [FOLDER FOR SCREENSHOTS]
import http from 'node:http';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { check, main } from './login.mjs';

const shots = process.argv[5];
// RFC 7636, appendix B.
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

await main(async (url, user, password) => {
  const { origin } = new URL(url);
  const arrived = [];
  const client = http.createServer((request, response) => {
    // Browsers also ask for an icon, whenever they like.
    if (request.url.startsWith('/callback')) arrived.push(request.url);
    // As hosted clients do: from their own site on to another one, and from there to an application.
    const query = request.url.split('?')[1];
    if (request.url.startsWith('/chain')) {
      const host = request.headers.host.replace('127.0.0.1', 'localhost');
      const next = request.url.startsWith('/chain/2') ? `claude://callback?${query}` : `http://${host}/chain/2?${query}`;
      arrived.push(request.url);
      response.writeHead(303, { location: next });
    }
    response.end('You can close this window.');
  });
  await new Promise(resolve => client.listen(0, '127.0.0.1', resolve));
  const callback = `http://127.0.0.1:${client.address().port}/callback`;
  const register = async (client_name, redirect_uri) => {
    const body = JSON.stringify({ client_name, redirect_uris: [redirect_uri], token_endpoint_auth_method: 'none' });
    const answer = await fetch(`${origin}/oauth/register`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const { client_id } = await answer.json();
    const query = new URLSearchParams({ response_type: 'code', client_id, redirect_uri, state: 's', code_challenge: challenge, code_challenge_method: 'S256' });
    return `${origin}/oauth/authorize?${query}`;
  };
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args });
  const open = async options => {
    const page = await (await browser.newContext(options)).newPage();
    page.violations = [];
    page.on('console', message => page.violations.push(message.text()));
    page.on('pageerror', error => page.violations.push(String(error)));
    return page;
  };
  const shot = async (page, name) => shots && page.screenshot({ path: path.join(shots, `${name}.png`), fullPage: true });

  const phone = await open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark', javaScriptEnabled: false });
  await phone.goto(await register('A phone', callback));
  const width = (await phone.locator('main').boundingBox()).width;
  check(width <= 360, `it fits a phone: ${width}`);
  await shot(phone, 'phone-dark');
  await phone.fill('#username', user);
  await phone.fill('#password', 'wrong');
  await phone.click('button.main');
  check((await phone.locator('[role=alert]').count()) === 0, 'nothing is chosen for the person, and nothing sent before');
  await phone.check('input[name=access][value=write]');
  await phone.click('button.main');
  check((await phone.locator('[role=alert]').textContent()).includes('wrong'), 'a wrong password is told');
  check((await phone.inputValue('#username')) === user, 'the name need not be typed again');
  await shot(phone, 'phone-wrong-password');
  await phone.fill('#password', password);
  await phone.click('button.main');
  await phone.waitForURL(`${callback}?*`);
  check(arrived.at(-1).includes('code=') && arrived.at(-1).includes('state=s'), 'the browser is sent back with a code');

  const desktop = await open({ viewport: { width: 1100, height: 800 }, colorScheme: 'light' });
  await desktop.goto(await register('A desktop', callback));
  await shot(desktop, 'desktop-light');
  // The keyboard alone: what it may do, the name, the password; Enter sends the form.
  await desktop.keyboard.press('Tab');
  await desktop.keyboard.press('Space');
  await desktop.keyboard.press('Tab');
  await desktop.keyboard.type(user);
  await desktop.keyboard.press('Tab');
  await desktop.keyboard.type(password);
  await desktop.keyboard.press('Enter');
  await desktop.waitForURL(`${callback}?*`);
  check(arrived.filter(path => path.includes('code=')).length === 2, 'sent back a second time');

  // From the form through two other origins to an application: a form-action in the page's policy would stop it half way.
  const chain = await open({});
  await chain.goto(await register('A chain', callback.replace('/callback', '/chain/1')));
  check((await chain.getByLabel('User name').count()) === 1 && (await chain.getByLabel('Password').count()) === 1, 'labels name the fields');
  check((await chain.getByRole('heading', { level: 1 }).count()) === 1 && (await chain.getByRole('group').count()) === 1, 'headings and groups');
  await chain.check('input[name=access][value=read]');
  await chain.fill('#username', user);
  await chain.fill('#password', password);
  await chain.getByRole('button', { name: 'Log in and allow' }).click();
  await new Promise(resolve => setTimeout(resolve, 1000));
  check(arrived.some(path => path.startsWith('/chain/1')) && arrived.some(path => path.startsWith('/chain/2')), `all of the chain: ${arrived}`);
  check(arrived.find(path => path.startsWith('/chain/2')).includes('code='), 'with the code');

  const application = await open({ viewport: { width: 360, height: 740 } });
  await application.goto(await register('An editor', 'cursor://anysphere.cursor-mcp/oauth/callback'));
  check((await application.locator('.warning').textContent()).includes('on this computer'), 'an application on this computer is warned of');
  await shot(application, 'application');

  const deny = await open({});
  await deny.goto(await register('Unwanted', callback));
  await deny.click('text=Deny');
  await deny.waitForURL(`${callback}?*`);
  check(arrived.at(-1).includes('error=access_denied'), 'denying works without a password');

  const stranger = await open({ viewport: { width: 700, height: 800 } });
  await stranger.goto(await register('Free Money <script>', 'https://unknown.example/callback'));
  check((await stranger.locator('.warning').count()) === 1, 'an unknown host is warned of');
  await shot(stranger, 'unknown-host');
  await stranger.goto(`${origin}/oauth/authorize?client_id=none`);
  await shot(stranger, 'error');
  await stranger.goto(`${origin}/`);
  await shot(stranger, 'home');
  for (const page of [phone, desktop, chain, application, deny, stranger]) {
    const problems = page.violations.filter(text => !/status of (400|403)|Failed to launch 'claude:/.test(text));
    check(problems.length === 0, `no complaint of the browser: ${problems}`);
  }
  await browser.close();
});
