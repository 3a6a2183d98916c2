//! Waits for the first of two futures, without an async runtime.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll},
};

/// The output of the future that was ready first; the left one if both were.
pub(crate) enum First<A, B> {
    Left(A),
    Right(B),
}

pub(crate) async fn race<A, B>(left: impl Future<Output = A>, right: impl Future<Output = B>) -> First<A, B> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    std::future::poll_fn(move |context| poll_both(left.as_mut(), right.as_mut(), context)).await
}

fn poll_both<A, B>(
    left: Pin<&mut impl Future<Output = A>>,
    right: Pin<&mut impl Future<Output = B>>,
    context: &mut Context<'_>,
) -> Poll<First<A, B>> {
    if let Poll::Ready(value) = left.poll(context) {
        return Poll::Ready(First::Left(value));
    }
    right.poll(context).map(First::Right)
}
