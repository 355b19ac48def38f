//! Results of tools, each declared once: a struct whose members say what a client may expect of
//! them.

use super::schema::{ANY_TEXT, COUNT, Field, Shape, optional};
use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::{Map, Value};

/// An object whose members are declared; the macro `result!` implements it.
pub trait Members {
    /// The members, in the order in which they are written.
    const FIELDS: &'static [Field];

    /// # Errors
    /// Those of the serializer.
    fn write<M: SerializeMap>(&self, members: &mut M) -> Result<(), M::Error>;
}

/// The value of a member.
pub trait Member: Serialize {
    /// Its type.
    const SHAPE: Shape;
    /// Whether it is always there.
    const REQUIRED: bool = true;

    /// # Errors
    /// Those of the serializer.
    fn write<M: SerializeMap>(&self, name: &'static str, members: &mut M) -> Result<(), M::Error> {
        members.serialize_entry(name, self)
    }
}

/// Members that are inlined among the others, as those of [`Next`](super::paging::Next).
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Inline<T>(pub T);

impl<T: Members + Serialize> Member for Inline<T> {
    const SHAPE: Shape = Shape::Inline(T::FIELDS);

    fn write<M: SerializeMap>(&self, _: &'static str, members: &mut M) -> Result<(), M::Error> {
        self.0.write(members)
    }
}

impl<T: Member> Member for Option<T> {
    const SHAPE: Shape = T::SHAPE;
    const REQUIRED: bool = false;

    fn write<M: SerializeMap>(&self, name: &'static str, members: &mut M) -> Result<(), M::Error> {
        self.as_ref().map_or(Ok(()), |value| value.write(name, members))
    }
}

/// A member that is there, and null, where it has no value: the sources of some tools have it so.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Nullable<T>(pub Option<T>);

impl<T: Member> Member for Nullable<T> {
    const SHAPE: Shape = Shape::Nullable(&T::SHAPE);
}

impl<T: Member> Member for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}

impl<T: Member> Member for &[T] {
    const SHAPE: Shape = Shape::List(&T::SHAPE);
}

macro_rules! shapes {
    ($($shape:expr => $($type:ty),+;)+) => { $($(impl Member for $type { const SHAPE: Shape = $shape; })+)+ };
}

shapes! {
    ANY_TEXT => &str, String, Box<str>, char;
    COUNT => u8, u64, usize;
    Shape::Number => f64;
    Shape::Flag => bool;
    Shape::List(&COUNT) => (usize, usize);
    Shape::AnyObject => Map<String, Value>, Value;
}

/// A flag that is present only when it is true.
pub fn flag(is_set: bool) -> Option<bool> {
    is_set.then_some(true)
}

/// A list that is present only when it is not empty.
pub fn unless_empty<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

/// A member, as its type declares it.
pub const fn member<T: Member>(name: &'static str) -> Field {
    Field { required: T::REQUIRED, ..optional(name, T::SHAPE, "") }
}

macro_rules! name {
    ($field:ident) => {
        stringify!($field)
    };
    ($field:ident $other:literal) => {
        $other
    };
}
pub(crate) use name;

/// Declares a struct as a result, or as an object in one. A member that is an [`Option`] may be
/// missing; `as` gives it another name, and `=` a narrower type than its own.
macro_rules! result {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? {
            $($(#[$about:meta])* $see:vis $field:ident $(as $other:literal)?: $type:ty $(= $shape:expr)?,)+
        }
    ) => {
        $(#[$meta])*
        $vis struct $name $(<$life>)? { $($(#[$about])* $see $field: $type,)+ }

        impl $(<$life>)? $crate::tools::result::Members for $name $(<$life>)? {
            const FIELDS: &'static [$crate::tools::Field] = &[$({
                let field = $crate::tools::result::member::<$type>($crate::tools::result::name!($field $($other)?));
                $(let field = $crate::tools::Field { shape: $shape, ..field };)?
                field
            },)+];

            fn write<M: serde::ser::SerializeMap>(&self, members: &mut M) -> Result<(), M::Error> {
                $($crate::tools::result::Member::write(&self.$field, $crate::tools::result::name!($field $($other)?), members)?;)+
                Ok(())
            }
        }

        impl $(<$life>)? $crate::tools::result::Member for $name $(<$life>)? {
            const SHAPE: $crate::tools::Shape = $crate::tools::Shape::Object(<Self as $crate::tools::result::Members>::FIELDS);
        }

        impl $(<$life>)? serde::Serialize for $name $(<$life>)? {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut members = serializer.serialize_map(None)?;
                $crate::tools::result::Members::write(self, &mut members)?;
                serde::ser::SerializeMap::end(members)
            }
        }
    };
}
pub(crate) use result;
