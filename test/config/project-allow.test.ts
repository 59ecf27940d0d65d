import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseProjectAllow } from '../../src/config/project-allow.ts';
import { parseEgressAllow } from '../../src/egress/allow-list.ts';
import { newId } from '../../src/ids.ts';

const nothing = parseEgressAllow('');
const [A, B, C] = [newId('Project'), newId('Project'), newId('Project')];
const parse = (text: string, base = nothing) => parseProjectAllow(text, base);

describe('parseProjectAllow', () => {
  test('opens an entry without projects to every project', () => {
    const allow = parse('10.0.0.7/32:8080, [fd12::]/64:*');
    for (const projectId of [A, B]) {
      expect(allow.of(projectId).permits('10.0.0.7', 8080)).toBe(true);
      expect(allow.of(projectId).permits('fd12::9', 1)).toBe(true);
      expect(allow.of(projectId).permits('10.0.0.8', 8080)).toBe(false);
      expect(allow.of(projectId).permits('10.0.0.7', 8081)).toBe(false);
    }
  });

  test('opens an entry with projects to only those projects', () => {
    const allow = parse(`10.0.0.1/32:80@${A}+${B}, 10.0.0.2/32:80@${B}, 10.0.0.3/32:80`);
    const openTo = (projectId: string) =>
      ['10.0.0.1', '10.0.0.2', '10.0.0.3'].filter((address) => allow.of(projectId).permits(address, 80));
    expect(openTo(A)).toEqual(['10.0.0.1', '10.0.0.3']);
    expect(openTo(B)).toEqual(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    expect(openTo(C)).toEqual(['10.0.0.3']);
    expect(['10.0.0.1', '10.0.0.2', '10.0.0.3'].every((address) => allow.any.permits(address, 80))).toBe(true);
  });

  test('adds to the targets that are always allowed, and changes nothing for other projects', () => {
    const base = parseEgressAllow('127.0.0.1/32:4010');
    const allow = parse(`10.0.0.1/32:80@${A}`, base);
    expect(allow.of(A).permits('127.0.0.1', 4010)).toBe(true);
    expect(allow.of(B)).toBe(base);
    expect(parse('', base).of(A)).toBe(base);
    expect(parse(' ', base).any).toBe(base);
  });

  test('returns the same object for every call, because connections belong to it', () => {
    const allow = parse(`10.0.0.1/32:80@${A}, 10.0.0.2/32:80`);
    expect(allow.of(A)).toBe(allow.of(A));
    expect(allow.of(B)).toBe(allow.of(C));
    expect(allow.of(A)).not.toBe(allow.of(B));
  });

  test('opens exactly what random entries list', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const port = fc.integer({ min: 1, max: 65_535 });
    const projects = fc.subarray([A, B, C]);
    fc.assert(
      fc.property(octet, octet, octet, port, projects, (b, c, d, openPort, named) => {
        const address = `10.${b}.${c}.${d}`;
        const allow = parse(` ${address}/32:${openPort}${named.length > 0 ? `@${named.join('+')}` : ''} `);
        const isOpenTo = (projectId: string) => named.length === 0 || named.includes(projectId);
        for (const projectId of [A, B, C]) {
          expect(allow.of(projectId).permits(address, openPort)).toBe(isOpenTo(projectId));
          expect(allow.of(projectId).permits(address, (openPort % 65_535) + 1)).toBe(false);
          expect(allow.of(projectId).permits(`10.${b}.${c}.${d ^ 1}`, openPort)).toBe(false);
          expect(allow.of(projectId).coversPort(openPort, true)).toBe(isOpenTo(projectId));
        }
        expect(allow.openings).toMatchObject([{ entry: `${address}/32:${openPort}`, projectIds: named }]);
      }),
    );
  });

  test('rejects random text with an error that names it, unless it is valid', () => {
    const hostile = fc.string({ unit: fc.constantFrom(...'@+,:/*[]. 0179afproj_'), minLength: 1 });
    fc.assert(
      fc.property(hostile, (text) => {
        fc.pre(text.trim() !== '');
        const projects = text.split(',').map((entry) => entry.split('@')[1]);
        try {
          parse(text);
        } catch (error) {
          expect((error as Error).message).toMatch(/^Invalid .*entry "/s);
          return;
        }
        // A text this short can't name a project, so its entry applies to all projects.
        expect(projects.every((names) => names === undefined)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ['@', 'use CIDR:port'],
    [`@${A}`, 'use CIDR:port'],
    [`10.0.0.1/32:80@${A}@${B}`, 'use CIDR:port'],
    ['10.0.0.1/32:80@', `"" isn't a project ID`],
    ['10.0.0.1/32:80@proj_1', `"proj_1" isn't a project ID`],
    [`10.0.0.1/32:80@${newId('Endpoint')}`, "isn't a project ID"],
    [`10.0.0.1/32:80@${A}+`, `"" isn't a project ID`],
    [`10.0.0.1/32:80@${A} ${B}`, "isn't a project ID"],
    [`10.0.0.1/32@${A}:80`, 'use <network>'],
    ['10.0.0.1:80', 'use <network>'],
    ['api.internal:80', 'use <network>'],
    ['10.0.0.1/32:80,', 'use CIDR:port'],
    ['10.0.0.1/8:80', 'starts at 10.0.0.0'],
    [`169.254.169.254/32:80@${A}`, 'never allowed'],
    [`[fd00:ec2::254]/128:80@${A}`, 'never allowed'],
    ['[::ffff:10.0.0.1]/128:80', 'never allowed'],
    ['[64:ff9b::a00:1]/128:80', 'never allowed'],
    ['0.0.0.0/0:*', 'never allowed'],
  ])('rejects %j: %s', (text, reason) => {
    expect(() => parse(text)).toThrow(reason);
  });
});
