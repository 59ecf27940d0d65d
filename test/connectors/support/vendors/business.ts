import { bodyOf, json, type Vendor } from './vendor.ts';

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
