import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { mailOf, slackBodyOf } from '../../../src/features/notices/render.ts';
import { NOTICE_TYPES, noticePath, noticeText } from '../../../src/features/notices/types.ts';
import { newId } from '../../../src/ids.ts';

const documentation = readFileSync(resolve(import.meta.dirname, '../../../docs/notices.md'), 'utf8');

const noticeOf = (type: string, count = 1) => ({
  ...{ type, count, projectId: newId('Project'), subjectId: newId('Webhook'), subject: 'hooks.example.com' },
  detail: null,
});

describe.each(NOTICE_TYPES)('a notice of the type %s', (type) => {
  test('has a title, a cause, and advice in whole sentences', () => {
    for (const count of [1, 2]) {
      const { title, cause, advice } = noticeText(noticeOf(type, count));
      expect(title).toMatch(/^\S.*[^.]$/);
      for (const sentence of [cause, advice]) expect(sentence).toMatch(/^[A-Z].*\.$/);
    }
  });

  test('leads to a page of its project', () => {
    const notice = noticeOf(type);
    expect(noticePath(notice)).toMatch(
      new RegExp(`^/console/projects/${notice.projectId}/(webhooks|connectors|deliveries|payments|settings)\\b`),
    );
  });

  test('is documented', () => {
    expect(documentation).toContain(`| \`${type}\` |`);
  });
});

test('a notice of a type that only a newer version knows still has a title', () => {
  expect(noticeText(noticeOf('moon.rising')).title).toBe('hooks.example.com');
});

test('an email about several notices says how many there are, and one about a single notice says what it is', () => {
  const told = {
    ...noticeOf('host.lost'),
    ...noticeText(noticeOf('host.lost')),
    id: '',
    firstAt: '',
    lastAt: '',
    url: null,
  };
  const content = { kind: 'notices', projectId: '', projectName: 'Weather', url: null, moreCount: 0 } as const;
  expect(mailOf({ ...content, notices: [told] }).subject).toBe(
    '[Weather] hooks.example.com no longer leads to this project',
  );
  expect(mailOf({ ...content, notices: [told, told], moreCount: 3 }).subject).toBe('[Weather] 5 notices');
  expect(JSON.parse(slackBodyOf({ ...content, notices: [told] })).text).toContain('*[Weather] 1 notice*');
});
