// Elements made of texts and other elements: a text never becomes markup.

const SVG = "http://www.w3.org/2000/svg";

/** Return an HTML element; an attribute that is a function listens to that event. */
export const h = (name, attributes, ...children) => build(document.createElement(name), attributes, children);

/** Return an SVG element. */
export const svg = (name, attributes, ...children) =>
  build(document.createElementNS(SVG, name), attributes, children);

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

export const byId = (id) => document.getElementById(id);

/** Put children in place of what an element has. */
export const fill = (element, ...children) => {
  element.replaceChildren(...children.flat(3).filter((child) => child || child === 0));
  return element;
};

export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
