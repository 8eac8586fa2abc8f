/** Proofs that can be verified without this service: certificates, signed logs, and their verification. */
export { auditExport, type AuditExport, type AuditHead, type AuditVerifyResult, verifyAuditLog } from './audit-log.ts';
export { type CertificatePayload, verifyCertificate } from './certificate.ts';
export { jwks, type Jwks, pinnedKeys } from './signing-keys.ts';
export { createEvidence, type Evidence } from './signer.ts';
export { EvidenceError } from './signature.ts';
