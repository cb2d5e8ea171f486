/** The user object in the OpenAPI document. */
import { z } from 'zod';
import { GENDERS } from '../../fields/fields.ts';
import { ACCESS_TOKEN_TYPES } from '../../users/view.ts';
import { createdDetails, details, exampleCreated, exampleDetails } from '../shapes.ts';

const STATES = ['USER_STATE_ACTIVE', 'USER_STATE_INACTIVE', 'USER_STATE_LOCKED', 'USER_STATE_INITIAL'] as const;

const names = {
  userId: z.string(),
  state: z.enum(STATES).meta({ id: 'UserState' }),
  username: z.string(),
  loginNames: z.array(z.string()).meta({ minItems: 1 }),
  preferredLoginName: z.string(),
};

const human = z
  .object({
    ...names,
    profile: z.object({
      givenName: z.string(),
      familyName: z.string(),
      nickName: z.string(),
      displayName: z.string(),
      preferredLanguage: z.string(),
      gender: z.enum(GENDERS),
      avatarUrl: z.string(),
    }),
    email: z.object({ email: z.string(), isVerified: z.boolean() }),
    phone: z.object({ phone: z.string(), isVerified: z.boolean() }).optional(),
    passwordChangeRequired: z.boolean(),
  })
  .meta({ id: 'Human' });

const machine = z
  .object({
    name: z.string(),
    description: z.string(),
    hasSecret: z.boolean(),
    accessTokenType: z.enum(ACCESS_TOKEN_TYPES),
  })
  .meta({ id: 'Machine' });

const ONE_KIND = { oneOf: [{ required: ['human'] }, { required: ['machine'] }] };

export const user = z
  .object({ ...names, human: human.optional(), machine: machine.optional() })
  .meta({ id: 'User', description: 'Either a human or a machine user.', ...ONE_KIND });

/** A user in a search result, with its details in the same object. */
export const foundUser = z
  .object({ details, ...names, human: human.optional(), machine: machine.optional() })
  .meta({ id: 'FoundUser', ...ONE_KIND });

const namesV1 = {
  id: z.string(),
  details: createdDetails,
  state: names.state,
  userName: z.string(),
  loginNames: names.loginNames,
  preferredLoginName: z.string(),
};

const humanV1 = z
  .object({
    profile: z.object({
      firstName: z.string(),
      lastName: z.string(),
      nickName: z.string(),
      displayName: z.string(),
      preferredLanguage: z.string(),
      gender: z.enum(GENDERS),
      avatarUrl: z.string(),
    }),
    email: z.object({ email: z.string(), isEmailVerified: z.boolean() }),
    phone: z.object({ phone: z.string(), isPhoneVerified: z.boolean() }).optional(),
  })
  .meta({ id: 'HumanV1' });

/** The user object of `/management/v1` and `/auth/v1`. */
export const userV1 = z.object({ ...namesV1, human: humanV1.optional(), machine: machine.optional() }).meta({
  id: 'UserV1',
  description: 'The same user as in `/v2beta`, with the names of earlier versions.',
  ...ONE_KIND,
});

const exampleNames = {
  userId: 'bob',
  state: 'USER_STATE_ACTIVE',
  username: 'bob',
  loginNames: ['bob@acme.example', 'bob'],
  preferredLoginName: 'bob@acme.example',
};

export const exampleUser = {
  ...exampleNames,
  human: {
    ...exampleNames,
    profile: {
      givenName: 'Bob',
      familyName: 'Burns',
      nickName: '',
      displayName: 'Bob Burns',
      preferredLanguage: 'de-CH',
      gender: 'GENDER_UNSPECIFIED',
      avatarUrl: '',
    },
    email: { email: 'bob@acme.example', isVerified: true },
    phone: { phone: '+41791234567', isVerified: false },
    passwordChangeRequired: false,
  },
};

export const exampleFoundUser = { details: exampleDetails, ...exampleUser };

export const exampleUserV1 = {
  id: 'bob',
  details: exampleCreated,
  state: 'USER_STATE_ACTIVE',
  userName: 'bob',
  loginNames: exampleNames.loginNames,
  preferredLoginName: exampleNames.preferredLoginName,
  human: {
    profile: {
      firstName: 'Bob',
      lastName: 'Burns',
      nickName: '',
      displayName: 'Bob Burns',
      preferredLanguage: 'de-CH',
      gender: 'GENDER_UNSPECIFIED',
      avatarUrl: '',
    },
    email: { email: 'bob@acme.example', isEmailVerified: true },
  },
};
