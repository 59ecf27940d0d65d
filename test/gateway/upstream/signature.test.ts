import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { createUpstreamSigner } from '../../../src/gateway/upstream/signature.ts';
import { type Keyring, parseKeyring } from '../../../src/secrets/keyring.ts';

const entry = (id: string) => `${id}:${Buffer.alloc(32, id).toString('base64')}`;

function call(projectId: string) {
  return {
    projectId,
    paymentId: 'pay_1',
    payer: '0xA',
    method: 'GET',
    target: '/now?x',
    timestampSeconds: 1_800_000_000,
  };
}

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
  const first = signer.headersOf(call('proj_1'));
  expect(signer.headersOf(call('proj_1'))).toEqual(first);
  expect(uses()).toBe(2);

  const [current, previous, ...rest] = first['tollgate-signature']!.split(' ');
  const expected = (secret: string) => new Webhook(secret).sign('pay_1', new Date(1_800_000_000_000), '0xA.GET./now?x');
  expect(current).toBe(expected(signer.secretOf('proj_1')));
  expect(previous).toBe(expected(createUpstreamSigner(parseKeyring(entry('a'))).secretOf('proj_1')));
  expect(rest).toEqual([]);
  expect(signer.secretOf('proj_2')).not.toBe(signer.secretOf('proj_1'));
  expect(uses()).toBe(4);
});

test('only the secrets of recently used projects are remembered', () => {
  const { keyring, uses } = countingUses(parseKeyring(entry('a')));
  const signer = createUpstreamSigner(keyring);
  for (let index = 0; index <= 10_000; index++) {
    signer.secretOf(`proj_${index}`);
    signer.secretOf('proj_0');
  }
  const before = uses();
  signer.secretOf('proj_0');
  expect(uses()).toBe(before);
  signer.secretOf('proj_1');
  expect(uses()).toBe(before + 1);
});
