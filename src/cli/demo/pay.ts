import { payingFetch, receiptOf } from '../../sandbox/test-buyer.ts';
import { Failure } from '../failure.ts';
import { request } from '../http.ts';
import { note, print, printJson } from '../output.ts';
import { noteIfSlow, waitingFor } from '../slow.ts';
import { readSandbox } from './sandbox-buyer.ts';

type PayOptions = { method: string; data?: string; isJson: boolean };

/**
 * Sends a request to a paid endpoint and pays for it with the sandbox's wallet. Prints the response body to stdout, and
 * its status and the transaction to stderr. As JSON, prints all of them.
 *
 * @throws Failure if the sandbox isn't running, or if the status is 400 or higher
 */
export async function runPay(url: string, options: PayOptions): Promise<void> {
  const { method, data, isJson } = options;
  const buy = payingFetch((await readSandbox()).wallet.privateKey, request);
  const body = data !== undefined && { body: data, headers: { 'content-type': 'application/json' } };
  const response = await noteIfSlow(buy(url, { method, ...body }), waitingFor(url));
  const text = await response.text();
  const { transaction } = receiptOf(response);
  if (isJson) printJson({ status: response.status, transaction: transaction ?? null, body: text });
  else print(text);
  const outcome = `${response.status}, ${transaction ? `paid with transaction ${transaction}` : 'not charged'}`;
  if (!response.ok) throw new Failure('failed', outcome);
  note(outcome);
}
