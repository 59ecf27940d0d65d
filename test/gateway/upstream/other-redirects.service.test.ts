import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { advice, openRedirectStage, REDIRECTED, type RedirectStage } from './redirect-stage.ts';

let stage: RedirectStage;

beforeAll(async () => {
  stage = await openRedirectStage();
});
beforeEach(() => stage.reset());
afterAll(() => stage?.close());

describe('any other redirect is a failure, and only the seller sees its target', () => {
  const long = `http://api.test/${'a'.repeat(1_000)}`;

  test.each<[string, string | undefined, string]>([
    ['to another path', '/v2/answers', advice('UPSTREAM/v2/answers')],
    ['to another host', 'https://www.api.test/answers/', advice('https://www.api.test/answers/')],
    ['to another port', 'http://127.0.0.1:1/answers/', advice('http://127.0.0.1:1/answers/')],
    ['with another query', '/answers/?next=hidden', advice('UPSTREAM/answers/')],
    ['with two slashes', '/answers//', advice('UPSTREAM/answers//')],
    ['with credentials', 'http://user:word@HOST/answers/#part', advice('UPSTREAM/answers/')],
    ['to itself', '/answers?key=of-the-seller', advice('UPSTREAM/answers')],
    ['to a long path', long, advice(`${long.slice(0, 300)}…`)],
    ['to another protocol', 'ftp://HOST/answers/', REDIRECTED],
    ['nowhere', undefined, REDIRECTED],
    ['that repeats a secret header', '/hidden-value/answers', REDIRECTED],
  ])('%s', async (_which, location, message) => {
    stage.api.answers.push({ status: 307, ...(location !== undefined && { location }) });
    const { paymentId, repeat, ...result } = await stage.payFor('/headed');
    expect(result).toMatchObject({ status: 502, chargedAtomic: 0n, sent: ['GET /answers?key=of-the-seller'] });
    expect(JSON.parse(result.text).detail).toBe(`${REDIRECTED} You weren't charged. Sign a new payment to try again.`);
    const failure = await stage.paymentOf(paymentId);
    expect(failure).toMatchObject({ status: 'FAILED', failureReason: 'upstream_redirect' });
    expect(failure.failureMessage).toBe(message.replace('UPSTREAM', stage.api.url));
    const repeated = await repeat();
    expect(repeated.status).toBe(402);
    const target = failure.failureMessage === REDIRECTED ? 'hidden-value' : /redirects to (\S+)\. /.exec(message)![1]!;
    const shown = [
      ...[...result.headers, ...repeated.headers].flat().map((text) => text + Buffer.from(text, 'base64').toString()),
      ...[result.text, await repeated.text()],
    ].join();
    expect(shown).not.toContain(new URL(target.replace('UPSTREAM', stage.api.url), stage.api.url).pathname);
  });

  // Everyone who can see payments reads this message, and it is in events and the log.
  test.each([
    ['the same path', 'https://www.api.test/answers/swordfish/t0k3n-42', 'https://www.api.test/answers/••••/••••'],
    ['one of its segments', '/login/swordfish', 'UPSTREAM/login/••••'],
    ['an escaped segment', '/answers/%73wordfish/', 'UPSTREAM/answers/••••/'],
    ['a segment within another', '/next-t0k3n-42/', 'UPSTREAM/next-••••/'],
    ['a segment in base64', `/${btoa('t0k3n-42')}`, 'UPSTREAM/••••'],
    ['a value of its query', '/of-the-seller/answers', 'UPSTREAM/••••/answers'],
  ])('and not what is masked in the upstream URL, if the target repeats %s', async (_what, location, target) => {
    stage.api.answers.push({ status: 307, location });
    const { status, text, paymentId } = await stage.payFor('/secret');
    expect([status, JSON.parse(text).code]).toEqual([502, 'UPSTREAM_FAILED']);
    const { failureMessage } = await stage.paymentOf(paymentId);
    expect(failureMessage).toBe(advice(target.replace('UPSTREAM', stage.api.url)));
  });

  test.each([
    ['POST', 302],
    ['POST', 303],
    ['PUT', 302],
    ['PUT', 303],
  ])('%s with status %d, after which the request may have been processed', async (method, status) => {
    stage.api.answers.push({ status, location: '/answers/' });
    const { chargedAtomic, sent } = await stage.payFor('/answers', { method });
    expect([chargedAtomic, sent]).toEqual([0n, [`${method} /answers`]]);
  });

  test('for streamed and free endpoints', async () => {
    const location = 'https://api.test/elsewhere?token=hidden';
    stage.api.answers.push({ status: 301, location }, { status: 301, location });
    const streamed = await stage.payFor('/streamed/answers');
    expect([streamed.status, streamed.text]).toEqual([502, expect.stringContaining(REDIRECTED)]);
    const { data } = (await stage.alice.rest<{ data: object[] }>('GET', `${stage.shop.base}/payments`)).body;
    expect(data[0]).toMatchObject({
      unservedReason: 'upstream_redirect',
      failureMessage: advice('https://api.test/elsewhere'),
    });
    const free = await fetch(`${stage.shop.url}/free/answers`, { redirect: 'manual' });
    const text = await free.text();
    expect([free.status, text]).toEqual([502, expect.stringContaining(REDIRECTED)]);
    for (const shown of [streamed.text, text]) expect(shown).not.toMatch(/elsewhere|hidden/);
  });
});
