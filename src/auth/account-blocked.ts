import { AppError } from '../errors.ts';

/** The error for a valid credential whose account the operator has blocked. Its caller doesn't see the account's ID. */
export class AccountBlocked extends AppError {
  readonly userId: string;

  /** @param reason the operator's, or an empty string. */
  constructor(userId: string, reason: string) {
    super('ACCOUNT_BLOCKED', reason === '' ? {} : { detail: `The operator has blocked this account: ${reason}` });
    this.userId = userId;
  }
}
