import { expect, test } from 'vitest';
import { anvilPackage, explainNoAnvil } from '../../src/sandbox/anvil.ts';

test.each([
  ['linux', 'x64', '@foundry-rs/anvil-linux-amd64'],
  ['linux', 'arm64', '@foundry-rs/anvil-linux-arm64'],
  ['darwin', 'x64', '@foundry-rs/anvil-darwin-amd64'],
  ['darwin', 'arm64', '@foundry-rs/anvil-darwin-arm64'],
  ['win32', 'x64', '@foundry-rs/anvil-win32-amd64'],
])('the local chain for %s-%s comes from %s', (platform, architecture, name) => {
  expect(anvilPackage(platform, architecture)).toBe(name);
  expect(explainNoAnvil(platform, architecture)).toContain(`the package ${name} is not installed`);
});

test.each([
  ['linux', 'riscv64'],
  ['win32', 'arm64'],
  ['freebsd', 'x64'],
])('there is no local chain for %s-%s, and the message says so', (platform, architecture) => {
  expect(anvilPackage(platform, architecture)).toBeUndefined();
  expect(explainNoAnvil(platform, architecture)).toContain(`there is no local chain for ${platform}-${architecture}`);
});
