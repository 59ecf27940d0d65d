import { bodyOf, json, type Vendor, type VendorCall } from './vendor.ts';

const bearer: Vendor['credentialIn'] = ({ headers }) => headers.authorization ?? '';

/** A portal without the contact properties, so the connector has to create them. */
export const hubspot = (): Vendor => {
  const properties = new Map<string, object>();
  const contacts = new Map<string, Record<string, string>>();
  return {
    hosts: ['api.hubapi.com'],
    credentialIn: bearer,
    refuse: () =>
      json(401, {
        status: 'error',
        message: 'Authentication credentials not found.',
        category: 'INVALID_AUTHENTICATION',
      }),
    vendorResponse(call) {
      const last = call.url.pathname.split('/').at(-1)!;
      if (call.method === 'GET') {
        const property = properties.get(last);
        return property ? json(200, property) : json(404, { status: 'error' });
      }
      if (call.method === 'PATCH') {
        const contact = [...contacts.values()].find(({ id }) => id === last);
        return contact ? json(200, Object.assign(contact, bodyOf(call).properties)) : json(404, { status: 'error' });
      }
      const { inputs } = bodyOf(call);
      if (call.url.pathname.endsWith('/contacts/batch/create')) {
        for (const property of inputs) properties.set(property.name, property);
        return json(201, { status: 'COMPLETE', results: inputs });
      }
      const unknown = Object.keys(inputs[0].properties).find((name) => !properties.has(name));
      if (unknown)
        return json(400, {
          status: 'error',
          category: 'VALIDATION_ERROR',
          message: `Property "${unknown}" does not exist`,
        });
      const known = contacts.get(inputs[0].id);
      const contact = known ?? { id: String(101 + contacts.size) };
      contacts.set(inputs[0].id, Object.assign(contact, inputs[0].properties));
      const result = { id: contact.id, properties: inputs[0].properties, new: known === undefined };
      return json(200, { status: 'COMPLETE', results: [result] });
    },
  };
};

export const salesforce = (): Vendor => {
  const records = new Map<string, unknown>();
  return {
    hosts: ['acme.my.salesforce.com'],
    credentialIn: bearer,
    refuse: () => json(401, [{ message: 'Session expired or invalid', errorCode: 'INVALID_SESSION_ID' }]),
    vendorResponse(call) {
      if (call.url.pathname.endsWith('/describe')) {
        const names =
          'Kind__c Occurred_At__c Payment_Id__c Endpoint__c Customer__c Amount_USD__c Tx_Hash__c Payload__c'.split(' ');
        const fields = names.map((name) => ({ name, createable: true }));
        return json(200, {
          fields: [...fields, { name: 'Event_Id__c', createable: true, externalId: true, unique: true }],
        });
      }
      const id = call.url.pathname.split('/').at(-1)!;
      const created = !records.has(id);
      records.set(id, bodyOf(call));
      return json(created ? 201 : 200, { id: 'a01xx0000000001AAA', success: true, errors: [], created });
    },
  };
};

export const linear = (): Vendor => {
  const issues = new Set<string>();
  const failure = (message: string, type: string) =>
    json(200, { errors: [{ message, extensions: { type, userPresentableMessage: message } }] });
  return {
    hosts: ['api.linear.app'],
    credentialIn: bearer,
    refuse: () =>
      json(401, {
        errors: [
          {
            message: 'Authentication required, not authenticated',
            extensions: { type: 'authentication error', code: 'AUTHENTICATION_ERROR' },
          },
        ],
      }),
    vendorResponse(call) {
      const { query, variables } = bodyOf(call);
      if (query.startsWith('query'))
        return json(200, { data: { viewer: { id: 'u1' }, team: { id: variables.id, key: 'PAY', name: 'Payments' } } });
      const { id, title, teamId } = variables.input;
      if (!title || !teamId) return failure('Argument Validation Error', 'invalid input');
      if (issues.has(id)) return failure('conflict on insert of Issue', 'invalid input');
      issues.add(id);
      return json(200, {
        data: {
          issueCreate: { success: true, issue: { id, identifier: `PAY-${issues.size}`, url: 'https://linear.app/x' } },
        },
      });
    },
  };
};

export const quickbooks = (): Vendor => {
  const receipts: { Id: string; DocNumber: string; PrivateNote: string }[] = [];
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
      if (resource === 'preferences')
        return json(200, { Preferences: { CurrencyPrefs: { HomeCurrency: { value: 'USD' } } } });
      if (resource === 'query' && statement.includes('from Item'))
        return json(200, { QueryResponse: { Item: [{ Id: '42' }] } });
      if (resource === 'query') {
        const found = receipts.filter(({ DocNumber }) => statement.includes(DocNumber));
        return json(200, { QueryResponse: found.length > 0 ? { SalesReceipt: found } : {} });
      }
      return addReceipt(call, receipts);
    },
  };
};

function addReceipt(call: VendorCall, receipts: { Id: string; DocNumber: string; PrivateNote: string }[]) {
  const { DocNumber, PrivateNote, Line } = bodyOf(call);
  // Without an item, QuickBooks ignores the amount, and the receipt's total is zero.
  const isZero = !Line[0].SalesItemLineDetail?.ItemRef?.value;
  if (isZero || !call.url.searchParams.get('requestid')) {
    return json(400, {
      Fault: { Error: [{ Message: 'Required param missing', code: '2020' }], type: 'ValidationFault' },
    });
  }
  const receipt = { Id: String(receipts.length + 1), DocNumber, PrivateNote };
  receipts.push(receipt);
  return json(200, { SalesReceipt: receipt });
}

export const xero = (): Vendor => {
  const received: { BankTransactionID: string; Reference: string; Status: string }[] = [];
  /** Bank transactions have no unique number, so every one is accepted. */
  const receive = (call: VendorCall) => {
    const [{ Type, BankAccount, LineItems, Reference }] = bodyOf(call).BankTransactions;
    if (Type !== 'RECEIVE' || !BankAccount?.Code || !LineItems[0].AccountCode) {
      const problems = [{ ValidationErrors: [{ Message: 'The account code is required.' }] }];
      return json(400, { ErrorNumber: 10, Type: 'ValidationException', Elements: problems });
    }
    const transaction = { BankTransactionID: crypto.randomUUID(), Reference, Status: 'AUTHORISED' };
    received.push(transaction);
    return json(200, { BankTransactions: [{ ...transaction, HasErrors: false }] });
  };
  const invoices: { InvoiceID: string; InvoiceNumber: string; Reference: string; Status: string }[] = [];
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
      if (call.method === 'GET') {
        const asked = decodeURIComponent(call.url.search);
        if (call.url.pathname.endsWith('/BankTransactions')) {
          const found = received.filter(({ Reference }) => asked.includes(Reference.split(' ')[0]!));
          return json(200, { BankTransactions: found });
        }
        return json(200, { Invoices: invoices.filter(({ InvoiceNumber }) => asked.includes(InvoiceNumber)) });
      }
      if (call.url.pathname.endsWith('/BankTransactions')) return receive(call);
      const [{ InvoiceNumber, Reference }] = bodyOf(call).Invoices;
      if (invoices.some((invoice) => invoice.InvoiceNumber === InvoiceNumber)) {
        const message = 'Invoice # must be unique.';
        return json(400, {
          ErrorNumber: 10,
          Type: 'ValidationException',
          Elements: [{ ValidationErrors: [{ Message: message }] }],
        });
      }
      const invoice = { InvoiceID: crypto.randomUUID(), InvoiceNumber, Reference, Status: 'DRAFT' };
      invoices.push(invoice);
      return json(200, { Invoices: [{ ...invoice, HasErrors: false }] });
    },
  };
};
