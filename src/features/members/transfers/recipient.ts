import { z } from 'zod';
import { requireId } from '../../../auth/access.ts';
import { emailInput } from '../../../auth/email.ts';
import type { Viewer } from '../../../auth/viewer.ts';
import type { Transaction } from '../../../database/client.ts';
import { AppError, invalidField, notFound } from '../../../errors.ts';
import type { ProjectTransfer } from '../../../generated/prisma/client.ts';
import { parseInput } from '../../../validation.ts';

/** Checks who a project is offered to. */
export const offerInput = z.strictObject({
  memberId: z.string().nullish(),
  email: emailInput.nullish(),
});

export type OfferInput = { memberId?: string | null; email?: string | null };

/** The person or address that a project is offered to. */
export type Recipient = Pick<ProjectTransfer, 'userId' | 'email' | 'name'>;

/**
 * Determines who an offer is for. If the address belongs to a member, the offer is for that member. Otherwise, it is
 * for the person with this address, with or without an account.
 *
 * @throws AppError `VALIDATION_FAILED` unless exactly one of `memberId` and `email` is given, `NOT_FOUND` for a member
 *   who doesn't exist, and `CONFLICT` for the owner's own address.
 */
export async function findRecipient(
  tx: Transaction,
  viewer: Viewer,
  projectId: string,
  input: OfferInput,
): Promise<Recipient> {
  const { memberId, email } = parseInput(offerInput, input);
  if ((memberId == null) === (email == null)) throw invalidField('/memberId', 'Send either `memberId` or `email`.');
  if (email != null && viewer.kind === 'user' && viewer.email === email) {
    throw new AppError('CONFLICT', { detail: 'This is your own address, and you already own this project.' });
  }
  const named = memberId == null ? { email: email! } : { id: requireId('ProjectMember', memberId) };
  const member = await tx.projectMember.findFirst({ where: { projectId, ...named } });
  if (member) return { userId: member.userId, email: member.email, name: member.name };
  if (email == null) throw notFound();
  return { userId: null, email, name: email };
}
