import type { TestResponse } from '../../../support/receiver.ts';
import { bodyOf, json, type Vendor, type VendorCall } from './vendor.ts';

const bearer: Vendor['credentialIn'] = ({ headers }) => headers.authorization ?? '';

/** A company's settings. A test can change them between calls. */
export type QuickBooksCompany = {
  /** The books are closed up to and including this day (YYYY-MM-DD). */
  closedThrough?: string;
  /** `Preferences.SalesFormsPrefs.CustomTxnNumbers`. If false, the company numbers its receipts itself. */
  keepsNumbers?: boolean;
  receipts: { Id: string; DocNumber: string; PrivateNote: string; TxnDate: string }[];
  /** The responses by request ID. Clear this to let so much time pass that QuickBooks forgets them. */
  responses: Map<string, TestResponse>;
};

export const newQuickBooksCompany = (): QuickBooksCompany => ({ receipts: [], responses: new Map() });

/** A company in US dollars. Pass an object to change and inspect it. */
export const quickbooks = (company: QuickBooksCompany = newQuickBooksCompany()): Vendor => {
  const { responses } = company;
  return {
    hosts: ['quickbooks.api.intuit.com', 'sandbox-quickbooks.api.intuit.com'],
    credentialIn: bearer,
    refuse: () =>
      json(401, {
        fault: {
          error: [{ message: 'message=AuthenticationFailed; errorCode=003200', detail: 'Token expired', code: '3200' }],
          type: 'AUTHENTICATION',
        },
      }),
    vendorResponse(call) {
      const [, resource = ''] = /^\/v3\/company\/\d+\/(\w+)/.exec(call.url.pathname) ?? [];
      const statement = call.url.searchParams.get('query') ?? '';
      if (resource === 'companyinfo') return json(200, { CompanyInfo: { CompanyName: 'Shop' } });
      if (resource === 'preferences') {
        const SalesFormsPrefs = { CustomTxnNumbers: company.keepsNumbers ?? true };
        return json(200, { Preferences: { CurrencyPrefs: { HomeCurrency: { value: 'USD' } }, SalesFormsPrefs } });
      }
      if (resource === 'query' && statement.includes('from Item'))
        return json(200, { QueryResponse: { Item: [{ Id: '42' }] } });
      if (resource === 'query') return findReceipts(statement, company);
      // The same request ID gets the original response again, even if that was a fault.
      const requestId = call.url.searchParams.get('requestid');
      if (!requestId) return fault('2020', 'Required Param Missing', 'Required parameter is missing in the request.');
      const response = responses.get(requestId) ?? addReceipt(call, company);
      responses.set(requestId, response);
      return response;
    },
  };
};

/** The faults and their texts: https://developer.intuit.com/app/developer/qbo/docs/develop/troubleshooting/handling-common-errors */
function fault(code: string, Message: string, Detail: string): TestResponse {
  return json(400, {
    Fault: { Error: [{ Message, Detail, code, element: '' }], type: 'ValidationFault' },
    time: 'now',
  });
}

function findReceipts(statement: string, { receipts }: QuickBooksCompany): TestResponse {
  const where = /where (\w+) (=|like|in) (.+?)(?: orderby Id)?(?: startposition (\d+))? maxresults (\d+)$/.exec(
    statement,
  );
  const [, property = '', operator, operand = '', start = '1', size = '100'] = where ?? [];
  if (property !== 'DocNumber' && property !== 'TxnDate')
    return fault('4001', 'Invalid query', `QueryValidationError: property '${property}' is not queryable`);
  const values = [...operand.matchAll(/'([^']*)'/g)].map(([, value = '']) => value);
  const matches = (text: string) =>
    operator === 'like' ? text.startsWith(values[0]!.replace(/%$/, '')) : values.includes(text);
  const found = receipts
    .filter((receipt) => matches(receipt[property]))
    .slice(Number(start) - 1, Number(start) - 1 + Number(size));
  return json(200, { QueryResponse: found.length > 0 ? { SalesReceipt: found } : {}, time: 'now' });
}

function addReceipt(
  call: VendorCall,
  { receipts, closedThrough, keepsNumbers = true }: QuickBooksCompany,
): TestResponse {
  const { DocNumber: asked, PrivateNote, TxnDate, Line } = bodyOf(call);
  // Without an item, QuickBooks ignores the amount, and the receipt's total is zero.
  if (!Line[0].SalesItemLineDetail?.ItemRef?.value)
    return fault('2020', 'Required Param Missing', 'Required parameter is missing in the request.');
  if (closedThrough !== undefined && TxnDate <= closedThrough) {
    return fault(
      '6210',
      'Account Period Closed, Cannot Update Through Services API',
      'The account period has closed and the account books cannot be updated through through the QBO Services API. Please use the QBO website to make these changes.',
    );
  }
  const DocNumber = keepsNumbers ? asked : String(1001 + receipts.length);
  if (receipts.some((receipt) => receipt.DocNumber === DocNumber)) {
    return fault(
      '6140',
      'Duplicate Document Number Error',
      'Duplicate Document Number Error : You must specify a different number. This number has already been used.',
    );
  }
  const receipt = { Id: String(receipts.length + 1), DocNumber, PrivateNote, TxnDate };
  receipts.push(receipt);
  return json(200, { SalesReceipt: receipt });
}

/** An organization's settings. A test can change them between calls. */
export type XeroOrganization = {
  /** Entries up to and including this day (YYYY-MM-DD) are rejected. */
  lockedThrough?: string;
  /** The validation message for every new entry. */
  problem?: string;
};

/** An organization with US dollars. Pass an object to change it. */
export const xero = (organization: XeroOrganization = {}): Vendor => {
  const received: { BankTransactionID: string; Reference: string; Status: string }[] = [];
  const invoices: { InvoiceID: string; InvoiceNumber: string; Reference: string; Status: string }[] = [];
  const responses = new Map<string, TestResponse>();

  const rejected = (Message: string) =>
    json(400, {
      ErrorNumber: 10,
      Type: 'ValidationException',
      Message: 'A validation exception occurred',
      Elements: [{ ValidationErrors: [{ Message }] }],
    });

  function problemOf({ Date: date }: { Date: string }): string | undefined {
    const { lockedThrough, problem } = organization;
    if (lockedThrough === undefined || date > lockedThrough) return problem;
    return `The document date cannot be before the period lock date, currently set at ${lockedThrough}`;
  }

  /** Bank transactions have no unique number, so every one is accepted. */
  function receive(call: VendorCall): TestResponse {
    const [entry] = bodyOf(call).BankTransactions;
    const { Type, BankAccount, LineItems, Reference } = entry;
    if (Type !== 'RECEIVE' || !BankAccount?.Code || !LineItems[0].AccountCode)
      return rejected('The account code is required.');
    const problem = problemOf(entry);
    if (problem) return rejected(problem);
    const transaction = { BankTransactionID: crypto.randomUUID(), Reference, Status: 'AUTHORISED' };
    received.push(transaction);
    return json(200, { BankTransactions: [{ ...transaction, HasErrors: false }] });
  }

  function draft(call: VendorCall): TestResponse {
    const [entry] = bodyOf(call).Invoices;
    const { InvoiceNumber, Reference } = entry;
    if (invoices.some((invoice) => invoice.InvoiceNumber === InvoiceNumber))
      return rejected('Invoice # must be unique.');
    const problem = problemOf(entry);
    if (problem) return rejected(problem);
    const invoice = { InvoiceID: crypto.randomUUID(), InvoiceNumber, Reference, Status: 'DRAFT' };
    invoices.push(invoice);
    return json(200, { Invoices: [{ ...invoice, HasErrors: false }] });
  }

  return {
    hosts: ['api.xero.com'],
    credentialIn: bearer,
    refuse: () => json(401, { Type: null, Title: 'Unauthorized', Status: 401, Detail: 'TokenExpired: token expired' }),
    vendorResponse(call) {
      if (call.url.pathname === '/connections') {
        return json(200, [{ tenantId: '70784a63-d24b-46a9-a4db-0e70a274b056', tenantName: 'Shop' }]);
      }
      if (call.url.pathname.endsWith('/Accounts')) {
        return json(200, { Accounts: [{ Code: '090', Type: 'BANK', Status: 'ACTIVE', CurrencyCode: 'USD' }] });
      }
      const isBank = call.url.pathname.endsWith('/BankTransactions');
      if (call.method === 'GET') {
        const asked = decodeURIComponent(call.url.search);
        if (isBank) {
          const found = received.filter(({ Reference }) => asked.includes(Reference.split(' ')[0]!));
          return json(200, { BankTransactions: found });
        }
        return json(200, { Invoices: invoices.filter(({ InvoiceNumber }) => asked.includes(InvoiceNumber)) });
      }
      // For six minutes, the same key gets the original response again, even if that was an error.
      const key = call.headers['idempotency-key'] ?? crypto.randomUUID();
      const response = responses.get(key) ?? (isBank ? receive(call) : draft(call));
      responses.set(key, response);
      return response;
    },
  };
};
