import { x402Facilitator } from '@x402/core/facilitator';
import type { Network as NetworkId, PaymentPayload, PaymentRequirements } from '@x402/core/types';
import { toFacilitatorEvmSigner } from '@x402/evm';
import { registerExactEvmScheme } from '@x402/evm/exact/facilitator';
import { createWalletClient, publicActions, type Transport } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import {
  type Facilitator,
  FacilitatorError,
  type FacilitatorRequest,
  readSettlement,
  readSupported,
  readVerification,
} from '../gateway/chain/facilitator.ts';
import type { Network } from '../gateway/chain/networks.ts';
import { SMART_WALLET_FACTORY, viemChain } from './chain.ts';
import { oneAtATime } from './one-at-a-time.ts';

const CONFIRMATION_MILLISECONDS = 20_000;

/** The endpoints of a facilitator service, as functions that take plain objects instead of JSON. */
export type FacilitatorEndpoints = {
  address: `0x${string}`;
  verify(request: FacilitatorRequest): Promise<unknown>;
  settle(request: FacilitatorRequest): Promise<unknown>;
  supported(): unknown;
};

/** The reference facilitator with its own wallet, which needs gas. */
export function createLocalFacilitator({
  network,
  transport,
}: {
  network: Network;
  transport: Transport;
}): FacilitatorEndpoints {
  const account = privateKeyToAccount(generatePrivateKey());
  const serially = oneAtATime();
  const client = createWalletClient({ account, chain: viemChain(network), transport, pollingInterval: 50 }).extend(
    publicActions,
  );
  const signer = toFacilitatorEvmSigner(
    {
      address: account.address,
      readContract: (call) => client.readContract({ ...call, args: call.args ?? [] }),
      verifyTypedData: (data) => client.verifyTypedData(data as Parameters<typeof client.verifyTypedData>[0]),
      writeContract: (call) => serially(() => client.writeContract(call)),
      sendTransaction: (transaction) => serially(() => client.sendTransaction(transaction)),
      waitForTransactionReceipt: (wanted) => client.waitForTransactionReceipt(wanted),
      getCode: ({ address }) => client.getCode({ address }),
    },
    { confirmationTimeoutMs: CONFIRMATION_MILLISECONDS },
  );
  const facilitator = new x402Facilitator();
  registerExactEvmScheme(facilitator, {
    signer,
    networks: network.id as NetworkId,
    // Before the first payment of a wallet that isn't deployed yet, the facilitator deploys it.
    eip6492AllowedFactories: [SMART_WALLET_FACTORY],
  });
  const typed = ({ paymentPayload, paymentRequirements }: FacilitatorRequest) =>
    [paymentPayload as unknown as PaymentPayload, paymentRequirements as unknown as PaymentRequirements] as const;
  return {
    address: account.address,
    verify: (request) => facilitator.verify(...typed(request)),
    settle: (request) => facilitator.settle(...typed(request)),
    supported: () => facilitator.getSupported(),
  };
}

/** Adapts an in-process facilitator for the gateway. */
export function inProcess(endpoints: FacilitatorEndpoints): Facilitator {
  return {
    async verify(request) {
      const response = await endpoints.verify(request).catch((cause) => {
        throw new FacilitatorError('facilitator_unavailable', "The facilitator didn't respond.", { cause });
      });
      return readVerification(response);
    },
    async settle(request) {
      try {
        return readSettlement(await endpoints.settle(request));
      } catch {
        const message = "The facilitator didn't respond.";
        return { kind: 'unavailable', reason: 'facilitator_unavailable', message, retryAfterSeconds: undefined };
      }
    },
    supported: async () => readSupported(endpoints.supported()),
    probe: async () => 400,
  };
}
