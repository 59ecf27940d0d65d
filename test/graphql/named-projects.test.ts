import { expect, test } from 'vitest';
import { projectsNamedIn } from '../../src/graphql/named-projects.ts';
import { newId } from '../../src/ids.ts';

test('the projects that a text names are found once each, in order', () => {
  const [first, second] = [newId('Project'), newId('Project')];
  const text = JSON.stringify({
    a: first,
    b: `a ${second}, ${first}`,
    c: 'proj_1',
    d: newId('Webhook'),
    e: `x${first}`,
  });
  expect(projectsNamedIn(text)).toEqual([first, second]);
});

test('only the first 100 projects that a text names are looked up', () => {
  const ids = Array.from({ length: 5_000 }, () => newId('Project'));
  expect(projectsNamedIn(JSON.stringify(ids))).toEqual(ids.slice(0, 100));
});

test('a text is searched only for the first thousand occurrences', () => {
  const last = newId('Project');
  expect(projectsNamedIn(`${`${newId('Project')} `.repeat(2_000)}${last}`)).not.toContain(last);
});
