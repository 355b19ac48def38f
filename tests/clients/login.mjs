// What a person does with the login page, without a browser: opens it, fills in the form, is sent back.

const unescape = text => text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name]);

/** Logs in at an authorization URL; the URL that the browser is sent back to. */
export async function logIn(authorizationUrl, user, password, access = 'write') {
  const page = await fetch(authorizationUrl);
  const html = await page.text();
  if (page.status !== 200) throw new Error(`login page: ${page.status} ${html}`);
  const action = unescape(/<form method="post" action="([^"]*)"/.exec(html)[1]);
  const body = new URLSearchParams({ username: user, password, access, decision: 'allow' });
  const answer = await fetch(new URL(action, authorizationUrl), { method: 'POST', body, redirect: 'manual' });
  if (answer.status !== 303) throw new Error(`login: ${answer.status} ${await answer.text()}`);
  return new URL(answer.headers.get('location'));
}

/** What the SDKs ask an application to keep between the steps of a login. */
export class Provider {
  constructor(name, redirect) {
    this.redirectUrl = redirect;
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [redirect],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }
  state() { return (this.sent = crypto.randomUUID()); }
  saveState(state) { this.sent = state; }
  storedState() { return this.sent; }
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.saved; }
  saveTokens(tokens) { this.saved = tokens; }
  redirectToAuthorization(url) { this.authorizationUrl = url; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  codeVerifier() { return this.verifier; }
  saveDiscoveryState(state) { this.discovered = state; }
  discoveryState() { return this.discovered; }
  saveAuthorizationServerInformation(information) { this.server = information; }
  authorizationServerInformation() { return this.server; }
}

export function check(truth, what) {
  if (!truth) throw new Error(`not true: ${what}`);
}

/** Runs a client's conversation; exit code 0 if it went through. */
export async function main(conversation) {
  const [url, user, password] = process.argv.slice(2);
  try {
    await conversation(url, user, password);
    process.exit(0);
  } catch (error) {
    console.error(error);
    process.exit(1);
  }
}
