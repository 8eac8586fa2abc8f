/** Form controls with labels. Hints and problems are linked to their control for screen readers. */
import { CircleAlert } from 'lucide-react';
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId } from 'react';

interface Labelled {
  label: string;
  hint?: ReactNode;
  problem?: string | undefined;
}

function Field({ id, label, hint, problem, children }: Labelled & { id: string; children: ReactNode }) {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {problem !== undefined && <Problem id={`${id}-problem`} text={problem} />}
      {hint !== undefined && (
        <div className="hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
    </div>
  );
}

function Problem({ id, text }: { id: string; text: string }) {
  return (
    <div className="problem" id={id}>
      <CircleAlert size={13} aria-hidden="true" />
      {text}
    </div>
  );
}

function described(id: string, { hint, problem }: Omit<Labelled, 'label'>) {
  const ids = [problem !== undefined && `${id}-problem`, hint !== undefined && `${id}-hint`].filter(Boolean).join(' ');
  return { id, 'aria-invalid': problem !== undefined || undefined, 'aria-describedby': ids || undefined };
}

type TextFieldProps = Labelled & InputHTMLAttributes<HTMLInputElement>;

export function TextField({ label, hint, problem, className, ...rest }: TextFieldProps) {
  const id = useId();
  return (
    <Field {...{ id, label, hint, problem }}>
      <input {...rest} {...described(id, { hint, problem })} className={`input ${className ?? ''}`} />
    </Field>
  );
}

interface PasswordFieldProps {
  label?: string;
  value: string;
  onChange: (password: string) => void;
  problem?: string | undefined;
  autoFocus?: boolean;
}

/** The password that the user has. */
export function PasswordField({ label = 'Password', value, onChange, problem, autoFocus = false }: PasswordFieldProps) {
  return (
    <TextField
      label={label}
      type="password"
      autoComplete="current-password"
      required
      autoFocus={autoFocus}
      value={value}
      problem={problem}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

/** minimum length of a password; the service refuses shorter ones */
export const passwordLength = 12;

/** A new password, with the number of missing characters. */
export function NewPasswordField({ label, value, onChange, problem, autoFocus = false }: PasswordFieldProps & { label: string }) {
  const lacking = passwordLength - value.length;
  const isTooShort = value.length > 0 && lacking > 0;
  return (
    <TextField
      label={label}
      type="password"
      autoComplete="new-password"
      required
      autoFocus={autoFocus}
      minLength={passwordLength}
      maxLength={200}
      value={value}
      problem={problem}
      hint={isTooShort ? `${lacking} more character${lacking === 1 ? '' : 's'}` : `At least ${passwordLength} characters.`}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

interface CodeFieldProps {
  value: string;
  onChange: (code: string) => void;
  problem?: string | undefined;
  autoFocus?: boolean;
}

/** A code of an authenticator app, or a recovery code. */
export function CodeField({ value, onChange, problem, autoFocus = false }: CodeFieldProps) {
  return (
    <TextField
      label="Code"
      autoComplete="one-time-code"
      autoCapitalize="none"
      spellCheck={false}
      required
      maxLength={40}
      pattern="[0-9A-Za-z \-]*"
      autoFocus={autoFocus}
      value={value}
      problem={problem}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

type SelectFieldProps = Labelled & SelectHTMLAttributes<HTMLSelectElement>;

export function SelectField({ label, hint, problem, children, ...rest }: SelectFieldProps) {
  const id = useId();
  return (
    <Field {...{ id, label, hint, problem }}>
      <select {...rest} {...described(id, { hint, problem })} className="input">
        {children}
      </select>
    </Field>
  );
}

/** A select for toolbars. Only screen readers see the label. */
export function CompactSelect({ label, children, ...rest }: { label: string } & SelectHTMLAttributes<HTMLSelectElement>) {
  return (
    <select {...rest} className="input compact" aria-label={label}>
      {children}
    </select>
  );
}

export function CheckField({ label, hint, ...rest }: Labelled & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId();
  return (
    <div className="check">
      <input {...rest} {...described(id, { hint })} type="checkbox" />
      <div>
        <label htmlFor={id}>{label}</label>
        {hint !== undefined && (
          <div className="small muted" id={`${id}-hint`}>
            {hint}
          </div>
        )}
      </div>
    </div>
  );
}

export interface Choice<T extends string> {
  value: T;
  title: string;
  text: string;
  disabled?: boolean;
}

interface ChoicesProps<T extends string> {
  label: string;
  value: T;
  choices: readonly Choice<T>[];
  onChange: (value: T) => void;
}

/** Controls with one label. The block around it: WebKit adds the height of the legend twice where a fieldset is a flex item. */
export function FieldGroup({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div>
      <fieldset className="field">
        <legend className="label">{label}</legend>
        {children}
      </fieldset>
    </div>
  );
}

/** Radio buttons as cards, each with a title and a sentence. */
export function Choices<T extends string>({ label, value, choices, onChange }: ChoicesProps<T>) {
  const name = useId();
  return (
    <FieldGroup label={label}>
      <div className="choices">
        {choices.map((choice) => (
          <div className="choice" key={choice.value}>
            <input
              type="radio"
              id={`${name}-${choice.value}`}
              name={name}
              value={choice.value}
              checked={choice.value === value}
              disabled={choice.disabled ?? false}
              onChange={() => onChange(choice.value)}
              aria-describedby={`${name}-${choice.value}-text`}
            />
            <label htmlFor={`${name}-${choice.value}`}>
              <strong>{choice.title}</strong>
            </label>
            <span id={`${name}-${choice.value}-text`}>{choice.text}</span>
          </div>
        ))}
      </div>
    </FieldGroup>
  );
}
