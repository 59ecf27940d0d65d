import { expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { findNetwork } from '../src/gateway/chain/networks.ts';
import { welcome } from '../src/welcome.ts';

const URL = 'http://127.0.0.1:4000';
const ISSUERS = JSON.stringify([{ issuer: 'https://id.example/', jwksUri: 'https://id.example/jwks', audience: 'a' }]);
const SANDBOX = {
  chains: [{ network: findNetwork('eip155:84532')!, rpcUrl: 'http://127.0.0.1:8545' }],
  upstreamUrl: 'http://127.0.0.1:4011',
  demoPort: 4011,
  wallet: { address: '0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045', privateKey: '0x1' },
};
const linesOf = (env: Record<string, string>, sandbox: typeof SANDBOX | undefined) =>
  welcome(URL, readConfig(env), sandbox).split('\n').filter(Boolean);

test('people first read where the console is, how to sign in, how to see a demo, and where the documentation is', () => {
  expect(linesOf({}, SANDBOX).slice(0, 6)).toEqual([
    '  Tollgate is running.',
    '    Console            http://127.0.0.1:4000/console/',
    '    Sign in            with any name, such as alice',
    '    See a demo         npm run demo     in a second terminal in this folder',
    '    Documentation      http://127.0.0.1:4000/docs/',
    '    Sell your API      http://127.0.0.1:4000/docs/get-started',
  ]);
});

test('only ways to sign in that this server has are named', () => {
  const waysOf = (env: Record<string, string>) => linesOf(env, undefined).filter((line) => /Sign in|token/.test(line));
  expect(waysOf({ AUTH_ISSUERS: ISSUERS, CONSOLE_CLIENT_ID: 'console' })).toEqual([
    '    Sign in            at id.example',
  ]);
  expect(waysOf({ AUTH_ISSUERS: ISSUERS })).toEqual(['    Sign in            with a token']);
  expect(waysOf({ HOST: '0.0.0.0' })).toEqual([
    '    Sign in            with a token',
    '    Get a token        npx tollgate token --sub alice --tier pro',
  ]);
});

test('without a sandbox or its demo API, no demo is offered', () => {
  const withoutApi = linesOf({}, { ...SANDBOX, upstreamUrl: null as never });
  expect(withoutApi.join('\n')).not.toContain('npm run demo');
  expect(withoutApi).toContain(
    '    Demo API           off, because port 4011 is taken. Free that port and restart to run the demo.',
  );
  expect(linesOf({}, undefined).at(-1)).toContain('The sandbox is off');
});

test('a process without the api role names only what it serves', () => {
  expect(linesOf({ ROLES: 'worker', SANDBOX: 'off' }, undefined)).toEqual([
    '  Tollgate is running.',
    '    Health, metrics    http://127.0.0.1:4000/readyz  http://127.0.0.1:4000/metrics',
  ]);
});
