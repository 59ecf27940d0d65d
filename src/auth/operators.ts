import { z } from 'zod';
import { sentenceOf } from '../validation.ts';

/** A person who runs this server, identified like any other user. */
export type Operator = { issuer: string; subject: string };

const operatorsSchema = z.array(
  z.strictObject({
    issuer: z.string(),
    subject: z.string().min(1),
  }),
  'Must be a JSON list.',
);

/**
 * Reads `OPERATORS`: a JSON list of objects with `issuer` and `subject`.
 *
 * @param issuers the trusted issuers. Nobody else can issue a token for an operator.
 * @throws Error that names the invalid entries.
 */
export function parseOperators(json: string, issuers: readonly string[]): Operator[] {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new Error(`Must be valid JSON: ${(error as Error).message}`);
  }
  const result = operatorsSchema.safeParse(value, { error: sentenceOf });
  if (!result.success) {
    const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'list'}: ${message}`);
    throw new Error(problems.join(' '));
  }
  const stranger = result.data.find(({ issuer }) => !issuers.includes(issuer));
  if (stranger) throw new Error(`${stranger.issuer} isn't a trusted issuer`);
  return result.data;
}

/** Whether a user is an operator. Compares the issuer too, because others may use the same subjects. */
export function isListed(operators: readonly Operator[], { issuer, subject }: Operator): boolean {
  return operators.some((operator) => operator.issuer === issuer && operator.subject === subject);
}
