import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createUpstreamSigner } from '../../../src/gateway/upstream/signature.ts';
import { type Keyring, parseKeyring } from '../../../src/secrets/keyring.ts';

const entry = (id: string) => `${id}:${Buffer.alloc(32, id).toString('base64')}`;

const NOW_SECONDS = 1_800_000_000;

/** A project whose secret has been replaced `version - 1` times, the last time with an overlap until `expiresAt`. */
function project(id: string, version = 1, expiresAt: Date | null = null) {
  return { id, upstreamSecretVersion: version, previousUpstreamSecretExpiresAt: expiresAt };
}

function call(signing: ReturnType<typeof project>) {
  return {
    project: signing,
    paymentId: 'pay_1',
    payer: '0xA',
    method: 'GET',
    origin: 'https://api.example',
    target: '/now?x',
    timestampSeconds: NOW_SECONDS,
  };
}

const signed = (secret: string, origin = '') =>
  new Webhook(secret).sign('pay_1', new Date(NOW_SECONDS * 1000), `0xA.GET.${origin}/now?x`);

/** The signatures without the upstream's origin, for each secret, and then those with it. */
const signedWith = (...secrets: string[]) =>
  ['', 'https://api.example'].flatMap((origin) => secrets.map((secret) => signed(secret, origin)));

/** Counts how often a master key is used. */
function countingUses(keyring: Keyring) {
  let uses = 0;
  const all = new Map(
    [...keyring.all.values()].map((master) => {
      const { upstreamSecretKey } = master;
      const counted = Object.defineProperty({ ...master }, 'upstreamSecretKey', {
        get() {
          uses += 1;
          return upstreamSecretKey;
        },
      });
      return [master.id, counted];
    }),
  );
  return { keyring: { current: all.get(keyring.current.id)!, all }, uses: () => uses };
}

test("a project's secret is derived once for each master key, and signs all of its requests", () => {
  const { keyring, uses } = countingUses(parseKeyring(`${entry('b')},${entry('a')}`));
  const signer = createUpstreamSigner(keyring);
  const first = signer.headersOf(call(project('proj_1')));
  expect(signer.headersOf(call(project('proj_1')))).toEqual(first);
  expect(uses()).toBe(2);

  const current = signer.secretOf(project('proj_1'));
  const previous = createUpstreamSigner(parseKeyring(entry('a'))).secretOf(project('proj_1'));
  expect(first['tollgate-signature']!.split(' ')).toEqual(signedWith(current, previous));
  expect(signer.secretOf(project('proj_2'))).not.toBe(signer.secretOf(project('proj_1')));
  expect(uses()).toBe(4);
});

test('until the overlap ends, requests are also signed with the previous secret', () => {
  const signer = createUpstreamSigner(parseKeyring(entry('a')));
  const secrets = [1, 2, 3].map((version) => signer.secretOf(project('proj_1', version)));
  expect(new Set(secrets).size).toBe(3);
  const signaturesUntil = (end: Date | null) =>
    signer.headersOf(call(project('proj_1', 3, end)))['tollgate-signature']!.split(' ');
  expect(signaturesUntil(new Date(NOW_SECONDS * 1000 + 1))).toEqual(signedWith(secrets[2]!, secrets[1]!));
  expect(signaturesUntil(new Date(NOW_SECONDS * 1000))).toEqual(signedWith(secrets[2]!));
  expect(signaturesUntil(null)).toEqual(signedWith(secrets[2]!));
});

test('only the secrets of recently used projects are remembered', () => {
  const { keyring, uses } = countingUses(parseKeyring(entry('a')));
  const signer = createUpstreamSigner(keyring);
  for (let index = 0; index <= 10_000; index++) {
    signer.secretOf(project(`proj_${index}`));
    signer.secretOf(project('proj_0'));
  }
  const before = uses();
  signer.secretOf(project('proj_0'));
  expect(uses()).toBe(before);
  signer.secretOf(project('proj_1'));
  expect(uses()).toBe(before + 1);
});
