/** Records what this process tells those who count (src/observations.ts). */
import { subscribe } from '../observations.ts';
import { annotate, noteEnd } from '../spans.ts';

subscribe('signIn', (outcome) => annotate({ 'muster.outcome': outcome }));
subscribe('mail', (outcome) => annotate({ 'muster.outcome': outcome }));
subscribe('webhook', (outcome) => annotate({ 'muster.outcome': outcome }));
subscribe('importEnded', ({ importId, state, seconds }) => noteEnd(importId, state, seconds));
