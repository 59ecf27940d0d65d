import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mailOf, slackBodyOf, webhookBodyOf } from '../../../src/features/notices/render.ts';
import { NOTICE_TYPES, noticePath, noticeText } from '../../../src/features/notices/types.ts';
import { newId } from '../../../src/ids.ts';

const documentation = readFileSync(resolve(import.meta.dirname, '../../../docs/notices.md'), 'utf8');

const noticeOf = (type: string, count = 1) => ({
  type,
  count,
  projectId: newId('Project'),
  subjectId: newId('Webhook'),
  subject: 'hooks.example.com',
  detail: null,
});

describe.each(NOTICE_TYPES)('a notice of the type %s', (type) => {
  test('has a title, a cause, and advice in complete sentences', () => {
    for (const count of [1, 2]) {
      const { title, cause, advice } = noticeText(noticeOf(type, count));
      expect(title).toMatch(/^\S.*[^.]$/);
      for (const sentence of [cause, advice]) expect(sentence).toMatch(/^[A-Z].*\.$/);
    }
  });

  test('links to a page in its project', () => {
    const notice = noticeOf(type);
    expect(noticePath(notice)).toMatch(
      new RegExp(
        `^/console/projects/${notice.projectId}/(webhooks|connectors|deliveries|payments|settings|keys|members)\\b`,
      ),
    );
  });

  test('is documented', () => {
    expect(documentation).toContain(`| \`${type}\` |`);
  });
});

test('a notice of a type that only a newer version knows still has a title', () => {
  expect(noticeText(noticeOf('moon.rising')).title).toBe('hooks.example.com');
});

test('a notice about a connector without a name calls it by the name of its service', () => {
  const notice = { ...noticeOf('destination.paused'), subjectId: newId('Connector'), subject: 'bigquery' };
  expect(noticeText(notice).title).toBe('BigQuery is paused');
});

test.each([
  ['destination.paused', newId('Webhook'), 'slack is paused'],
  ['transfer.accepted', newId('Project'), 'The project now belongs to slack'],
])('a name that someone chose isn’t changed in a notice of the type %s', (type, subjectId, title) => {
  expect(noticeText({ ...noticeOf(type), subjectId, subject: 'slack' }).title).toBe(title);
});

test('an email about several notices says how many there are, and one about a single notice says what it is', () => {
  const notice = {
    ...noticeOf('host.lost'),
    ...noticeText(noticeOf('host.lost')),
    id: '',
    firstAt: '',
    lastAt: '',
    url: null,
  };
  const content = { kind: 'notices', projectId: '', projectName: 'Weather', url: null, moreCount: 0 } as const;
  expect(mailOf({ ...content, notices: [notice] }).subject).toBe(
    '[Weather] hooks·example·com no longer works for this project',
  );
  expect(mailOf({ ...content, notices: [notice, notice], moreCount: 3 }).subject).toBe('[Weather] 5 notices');
  expect(JSON.parse(slackBodyOf({ ...content, notices: [notice] })).text).toContain('*[Weather] 1 notice*');
});

test('a name in a chat message can’t mention a whole channel', () => {
  const named = { ...noticeOf('host.lost'), title: '@everyone, @Here, @channel, @all: ops@here.example' };
  const notice = { ...named, cause: '', advice: '', id: '', firstAt: '', lastAt: '', url: null };
  const content = { kind: 'notices', projectId: '', projectName: '<!here>', url: null, moreCount: 0 } as const;
  const { text } = JSON.parse(slackBodyOf({ ...content, notices: [notice] }));
  expect(text).toContain('@\u200Beveryone, @\u200BHere, @\u200Bchannel, @\u200Ball: ops@here.example');
  expect(text).toContain('&lt;!here&gt;');
});

test.each([
  ['Account locked: https://evil.example/login', '[Account locked: https···evil·example·login] 5 notices'],
  ['help@evil.example', '[help·evil·example] 5 notices'],
  ['evil.example\\x', '[evil·example·x] 5 notices'],
  ['Account locked: call +1 (202) 555-0123', '[Account locked: call +1 (202) ···-····] 5 notices'],
  ['Call 202.555.0123', '[Call 202·5·······] 5 notices'],
  ['Shop 2026-11-30', '[Shop 2026-11-30] 5 notices'],
  ['Server 203.0.113.10:8443', '[Server 203·0·113·10·8443] 5 notices'],
  ['x'.repeat(200), `[${'x'.repeat(60)}…] 5 notices`],
])('in an email, the project name %j is not a link', (projectName, subject) => {
  const mail = mailOf({ kind: 'notices', projectId: '', projectName, url: null, notices: [], moreCount: 5 });
  expect(mail.subject).toBe(subject);
  expect(mail.text).not.toMatch(/evil\.example|x{61}|0123/);
});

describe('an email', () => {
  const content = { projectId: 'proj_1', projectName: 'Shop', url: 'https://tollgate.example/console' } as const;
  const name = 'your wallet: verify at https://evil.example/x now, or call 555 0123';
  const shown = 'your wallet: verify at https···evil·example·x now, or call 555 0···';

  test.each([
    ['destination.disabled', { subjectId: newId('Webhook'), subject: name }],
    ['destination.paused', { subjectId: newId('Connector'), subject: 'Sales', detail: `Visit us. Confirm ${name}` }],
    ['api_key.expired', { subjectId: newId('ApiKey'), subject: name }],
    [
      'transfer.offered',
      {
        subjectId: newId('Project'),
        subject: `${name} evil.example@evil.example evil\uff0eexample evil.\ufeffexample`,
      },
    ],
    ['moon.rising', { subjectId: newId('Webhook'), subject: name }],
  ])('about a notice of the type %s has no link that someone else wrote', (type, facts) => {
    const about = { ...noticeOf(type), ...facts };
    const url = 'https://tollgate.example/console/webhooks';
    const notice = { ...about, ...noticeText(about), id: '', firstAt: '', lastAt: '', url };
    const notices = { ...content, kind: 'notices' as const, notices: [notice], moreCount: 0 };
    const { subject, text } = mailOf(notices);
    expect(subject + text).toContain(shown);
    expect(subject + text).not.toMatch(/evil[.\uff0e]|https:\/\/evil|@evil/);
    expect(text).toContain(`\n${url}\n`);
    if (facts.subject === 'Sales') expect(text).toContain(`Visit us. Confirm ${shown}. Fix the settings`);
    expect(JSON.parse(slackBodyOf(notices)).text).toContain(name);
    expect(webhookBodyOf('msg_1', new Date(), notices)).toContain(name);
  });

  test('with a weekly digest has no link that someone else wrote', () => {
    const digest = {
      week: '2026-11-16',
      totalUsd: '12.34',
      ...{ paymentCount: 2, failedPaymentCount: 1, customerCount: 1, newCustomerCount: 1 },
      deliveries: { succeeded: 1, failed: 1, skipped: 0 },
      failures: [{ of: 'payment' as const, cause: name, count: 1 }],
      slowest: [{ destinationId: 'wh_1', name: 'hooks.evil.example', p95Ms: 1200, deliveryCount: 1 }],
    };
    const { text } = mailOf({ ...content, kind: 'weekly_digest', digest });
    expect(text).toContain('Revenue: $12.34');
    expect(text).toContain(`- 1 × payment: ${shown}`);
    expect(text).toContain('- hooks·evil·example: 1200 ms');
    expect(text).not.toMatch(/evil\./);
  });
});
